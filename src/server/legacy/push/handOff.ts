/** The snapshots that a stopping instance hands off, so that nothing that a client waits for is lost. */
import type { Journal } from '../../../journal/index.ts'
import type { Json, RequestId } from '../../../protocol/index.ts'
import type { Caller } from '../../call.ts'

/** A call that is resumed from an answer, or after a hand-off. */
export interface ResumedCall {
  readonly id: RequestId
  readonly method: string
  readonly params: Json
  /** The name of the stream that its result goes to. */
  readonly stream: string
  readonly journal: Journal
}

/** A question that another instance asked, whose call was resumed here. */
export interface ResumedQuestion {
  readonly key: string
  readonly question: string
  /** Its id on the wire. */
  readonly id: string
  /** Whether its answer may be lost with the instance that asked, so that it is repeated. @default false */
  readonly mayBeLost?: boolean
}

/** A call that waits for answers. */
export interface CallHandOff {
  /** The name of the call. */
  readonly call: string
  readonly generation: number
  /** Whether a state of the call exists from which another instance could also resume it. */
  readonly carried: boolean
  readonly request: Pick<ResumedCall, 'id' | 'method' | 'params'>
  readonly journal: unknown
  readonly questions: readonly ResumedQuestion[]
}

/** A stream, the messages that its client may not have seen, and its call, if that has not ended. */
export interface StreamHandOff {
  readonly name: string
  readonly caller: Caller
  /** The number of its last event. */
  readonly position: number
  readonly kept: readonly (readonly [number: number, message: string])[]
  /** The last progress sent to its client, which a run that starts again does not fall behind. */
  readonly progress: number | null
  readonly call?: CallHandOff
}
