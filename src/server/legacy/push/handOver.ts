/** What goes from an instance that stops to another one, so that nothing that a client waits for is lost. */
import type { Journal } from '../../../journal/index.ts'
import type { Json, RequestId } from '../../../protocol/index.ts'
import type { Caller } from '../../call.ts'

/** A call that goes on from an answer, or at another instance. */
export interface RevivedCall {
  readonly id: RequestId
  readonly method: string
  readonly params: Json
  /** The name of the stream that its result goes to. */
  readonly stream: string
  readonly journal: Journal
}

/** A question that another instance asked, whose call goes on here. */
export interface AdoptedQuestion {
  readonly key: string
  readonly question: string
  /** Its id on the wire. */
  readonly id: string
}

/** A call that waits for answers. */
export interface CallHandOver {
  /** The name of the call. */
  readonly call: string
  readonly generation: number
  /** Whether a state of the call exists from which another instance could go on, too. */
  readonly carried: boolean
  readonly request: Pick<RevivedCall, 'id' | 'method' | 'params'>
  readonly journal: unknown
  readonly questions: readonly AdoptedQuestion[]
}

/** A stream with what its client may not have seen, and the call that it answers, if that goes on. */
export interface StreamHandOver {
  readonly name: string
  readonly caller: Caller
  /** The number of its last event. */
  readonly position: number
  readonly kept: readonly (readonly [number: number, message: string])[]
  /** The last progress that its client was told; a run that begins again does not go back behind it. */
  readonly progress: number | null
  readonly call?: CallHandOver
}
