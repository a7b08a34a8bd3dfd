/** Forwards calls of callers that another gateway serves: that gateway answers, and its questions are asked here. */
import { isObject, type Json, MODERN_VERSION, RemoteError } from '../../../protocol/index.ts'
import type { Instance } from '../../../cluster/index.ts'
import { type Call, type MethodParts, withObjectOutput } from '../../../server/internal.ts'
import type { Backend } from '../../backends/backend.ts'
import { type BackendCode, callLost } from '../../errors.ts'
import { resultOf } from '../../response.ts'
import { forwardable } from '../../links/relayed.ts'
import { withTasks } from '../tasks/source.ts'
import type { RecordedCall } from '../../telemetry/calls.ts'
import { runInPlace } from './roundsInPlace.ts'

/** The target of a call, and its server. */
export interface PlacedTarget {
  readonly backend: Backend
  readonly name: string
  /** The arguments, as the server gets them. */
  readonly args?: unknown
  /** Converts another gateway's result for this session-era caller. @default unchanged */
  readonly forwarded?: (result: Json) => Json
}

/**
 * The reason why the other gateway did not start the call: it is gone; it is silent, and may have got the call all the
 * same; nothing was sent, because it was not found; it does not serve the caller; or it does not know whether it does.
 */
export type ForwardFailure = { readonly kind: 'gone' | 'silent' | 'unsent' | 'moved' | 'unplaced' }

/** The reason in the error for a call that a silent gateway may have got. */
export const SILENT = 'the gateway that serves this caller did not answer'
const ENDED = 'the gateway that serves this caller ended'
/** Error codes of a gateway that has not started the call. */
const NOT_BEGUN: Readonly<Partial<Record<BackendCode, ForwardFailure['kind']>>> = {
  CALLER_MOVED: 'moved',
  CALLER_UNPLACED: 'unplaced',
}

export class CallForwarding {
  readonly #parts: MethodParts

  constructor(parts: MethodParts) {
    this.#parts = parts
  }

  /** Returns the text of the result, or the reason why there is none. */
  async answer(recorded: RecordedCall, target: PlacedTarget, owner: Instance): Promise<string | ForwardFailure> {
    const { call } = recorded
    if (call.peer.takesInputRequired) {
      const result = await this.#forward(call, target, owner)
      if (isNotBegun(result)) return result.failure
      recorded.result(result)
      return JSON.stringify(call.peer.era === 'modern' ? result : withObjectOutput(result))
    }
    // Other clients of the session era are asked here, on the stream of their call.
    const { backend, name } = target
    let failure: ForwardFailure | undefined
    const text = await runInPlace(this.#parts, {
      call,
      backend,
      name,
      args: target.args,
      round: async (brought) => {
        const result = await this.#forward({ ...call, params: { ...call.params, ...brought } }, target, owner)
        if (isNotBegun(result)) {
          if (brought['requestState'] !== undefined) throw result.error ?? callLost(backend.name, name, ENDED)
          failure = result.failure
          return {}
        }
        recorded.result(result)
        return result
      },
      finish: target.forwarded ?? ((result) => result),
    })
    return failure ?? text
  }

  async #forward(call: Call, { backend, name }: PlacedTarget, owner: Instance): Promise<Json | NotBegun> {
    // A later round is identified by its ticket, and has one outcome.
    const isOnce = call.params['requestState'] === undefined
    const forwarded = await this.#parts.calls.forward(owner, asModern(call), { isOnce })
    if (forwarded.kind === 'broken') throw callLost(backend.name, name, ENDED)
    if (forwarded.kind !== 'answered') return new NotBegun({ kind: forwarded.kind })
    try {
      return resultOf(forwarded.response)
    } catch (error) {
      const kind = whyNotBegun(error)
      if (kind === undefined || !(error instanceof Error)) throw error
      return new NotBegun({ kind }, kind === 'unplaced' ? error : undefined)
    }
  }
}

/**
 * The call in the form of the stateless era, which gateways send to each other. One that asks for a task accepts tasks.
 */
export function asModern(call: Call): Call & { readonly session?: string } {
  const peer = isObject(call.params['task']) || call.method.startsWith('tasks/') ? withTasks(call.peer) : call.peer
  return forwardable({ ...call, peer }, unused)
}

/** A round of a call in the form of a stateless-era client. */
export function asRound(call: Call, round: Json): Call {
  const modern = asModern({ ...call, params: { ...call.params, ...round } })
  return { ...modern, peer: { ...call.peer, era: 'modern', version: MODERN_VERSION, takesInputRequired: true } }
}

class NotBegun {
  readonly failure: ForwardFailure
  /** The error for a caller whose call has started before. */
  readonly error: Error | undefined

  constructor(failure: ForwardFailure, error?: Error) {
    this.failure = failure
    this.error = error
  }
}

function isNotBegun(result: Json | NotBegun): result is NotBegun {
  return result instanceof NotBegun
}

function whyNotBegun(error: unknown): ForwardFailure['kind'] | undefined {
  const code = error instanceof RemoteError && isObject(error.data) ? error.data['code'] : undefined
  return NOT_BEGUN[code as BackendCode]
}

/** Its presence shows that the caller can be asked. */
function unused(): Promise<Json> {
  return Promise.reject(new TypeError('The other gateway asks.'))
}
