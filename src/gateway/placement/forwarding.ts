/** Forwards calls of callers that another gateway serves: that gateway answers, and its questions are asked here. */
import type { Json } from '../../protocol/index.ts'
import type { Instance } from '../../cluster/index.ts'
import { type Call, type MethodParts, withObjectOutput } from '../../server/internal.ts'
import { type BackendCode, backendCodeOf, callLost, resultOf } from '../errors.ts'
import { asModern } from '../links/relayed.ts'
import type { ServerLeases } from './serverLeases.ts'

/** A call, and the record of its result. */
export interface PlacingCall {
  readonly call: Call
  result(result: Json): void
}

/** The target of a call, and its server. */
export interface PlacedTarget {
  readonly backend: {
    readonly name: string
    /** Whether the server learns its client's capabilities only when a link is opened. */
    readonly declaresOnLinks: boolean
    /** Whether any gateway may serve any caller. */
    readonly isShared: boolean
    readonly leases: ServerLeases | undefined
  }
  readonly name: string
  /** Whether the call may run again after its run was cut off. */
  readonly isReplayable: boolean
  /** The arguments, as the server gets them. */
  readonly args?: unknown
  /** Converts another gateway's result for this session-era caller. @default unchanged */
  readonly forwarded?: (result: Json) => Json
}

/** A call whose rounds are run here, and whose questions are asked on the caller's stream. */
export interface CallInPlace {
  readonly call: Call
  readonly server: string
  readonly name: string
  /** The arguments, as the server gets them. */
  readonly args: unknown
  /** Runs one round with its state and answers; the first round has neither. */
  readonly round: (brought: Json) => Promise<Json>
  readonly finish: (result: Json) => Json
}

/** Returns the text of the result. */
export type RunInPlace = (inPlace: CallInPlace) => Promise<string>

/**
 * The reason why the other gateway did not start the call: `gone`; `silent`, and it may have received the call;
 * `unsent`, because the gateway was not found; `moved`, because it does not serve the caller; or `unplaced`, because it
 * does not know whether it does.
 */
export class ForwardFailure {
  readonly kind: 'gone' | 'silent' | 'unsent' | 'moved' | 'unplaced'
  /** The error for a caller whose call has already started. */
  readonly error: Error | undefined

  constructor(kind: ForwardFailure['kind'], error?: Error) {
    this.kind = kind
    this.error = error
  }
}

/** The reason in the error for a call that a silent gateway may have received. */
export const SILENT = 'the gateway that serves this caller did not answer'
const ENDED = 'the gateway that serves this caller ended'
/** Error codes of a gateway that has not started the call. */
const NOT_BEGUN: Readonly<Partial<Record<BackendCode, ForwardFailure['kind']>>> = {
  CALLER_MOVED: 'moved',
  CALLER_UNPLACED: 'unplaced',
}

export class CallForwarding {
  readonly #parts: MethodParts
  readonly #runInPlace: RunInPlace

  constructor(parts: MethodParts, runInPlace: RunInPlace) {
    this.#parts = parts
    this.#runInPlace = runInPlace
  }

  /** Returns the text of the result, or the reason why there is none. */
  async answer(placing: PlacingCall, target: PlacedTarget, owner: Instance): Promise<string | ForwardFailure> {
    const { call } = placing
    if (!call.peer.takesInputRequired) return this.#answerInPlace(placing, target, owner)
    const result = await this.#forward(call, target, owner)
    if (result instanceof ForwardFailure) return result
    placing.result(result)
    return JSON.stringify(call.peer.era === 'modern' ? result : withObjectOutput(result))
  }

  /** Runs the rounds of a session-era client here, which is asked on the stream of its call. */
  async #answerInPlace(placing: PlacingCall, target: PlacedTarget, owner: Instance): Promise<string | ForwardFailure> {
    const { call } = placing
    const { backend, name, args, forwarded = (result) => result } = target
    let failure: ForwardFailure | undefined
    const round = async (brought: Json): Promise<Json> => {
      const result = await this.#forward({ ...call, params: { ...call.params, ...brought } }, target, owner)
      if (!(result instanceof ForwardFailure)) {
        placing.result(result)
        return result
      }
      if (brought['requestState'] !== undefined) throw result.error ?? callLost(backend.name, name, ENDED)
      failure = result
      return {}
    }
    const text = await this.#runInPlace({ call, server: backend.name, name, args, round, finish: forwarded })
    return failure ?? text
  }

  async #forward(call: Call, { backend, name }: PlacedTarget, owner: Instance): Promise<Json | ForwardFailure> {
    // A later round may be sent again: its ticket identifies it, and it has one outcome.
    const isOnce = call.params['requestState'] === undefined
    const forwarded = await this.#parts.calls.forward(owner, asModern(call), { isOnce })
    if (forwarded.kind === 'broken') throw callLost(backend.name, name, ENDED)
    if (forwarded.kind !== 'answered') return new ForwardFailure(forwarded.kind)
    try {
      return resultOf(forwarded.response)
    } catch (error) {
      const code = backendCodeOf(error)
      const kind = code && NOT_BEGUN[code]
      if (kind === undefined || !(error instanceof Error)) throw error
      return new ForwardFailure(kind, kind === 'unplaced' ? error : undefined)
    }
  }
}
