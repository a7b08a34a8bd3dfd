/** Forwards calls of callers whom another gateway serves: that gateway answers, and its questions are asked here. */
import { isObject, type Json, RemoteError } from '../../../protocol/index.ts'
import { type Call, type Instance, type MethodParts, withObjectOutput } from '../../../server/internal.ts'
import type { Backend } from '../../backends/backend.ts'
import { type BackendCode, callLost } from '../../errors.ts'
import { resultOf } from '../../response.ts'
import { forwardable } from '../../links/relayed.ts'
import { inputRequired } from '../relayedCall.ts'
import { withTasks } from '../tasks/source.ts'
import type { RecordedCall } from '../../telemetry/calls.ts'

/** What is called, at which server. */
export interface PlacedTarget {
  readonly backend: Backend
  readonly name: string
  /** What another gateway answered, as this caller of the session era takes it. @default as it is */
  readonly forwarded?: (result: Json) => Json
}

/**
 * Why the other gateway did not begin the call: it is gone; it is silent, and may have got the call all the same; it was sent
 * nothing, because it is not found; it does not serve the caller; or it does not know whether it does.
 */
export type ForwardFailure = { readonly kind: 'gone' | 'silent' | 'unsent' | 'moved' | 'unplaced' }

/** Why a call is lost that a gateway may have got and does not answer. */
export const SILENT = 'the gateway that serves this caller did not answer'
const ENDED = 'the gateway that serves this caller ended'
/** What another gateway answers that has not begun the call. */
const NOT_BEGUN: Readonly<Partial<Record<BackendCode, ForwardFailure['kind']>>> = {
  CALLER_MOVED: 'moved',
  CALLER_UNPLACED: 'unplaced',
}

export class CallForwarding {
  readonly #parts: MethodParts

  constructor(parts: MethodParts) {
    this.#parts = parts
  }

  /** Gives the text of the result, or why there is none. */
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
    const text = await this.#parts.rounds.run<Json>(call, {
      subject: { name: `${backend.name} ${name}`, args: call.params },
      invoke: async ({ requestState, inputResponses }) => {
        const round = requestState === undefined ? {} : { requestState, inputResponses }
        const result = await this.#forward({ ...call, params: { ...call.params, ...round } }, target, owner)
        if (isNotBegun(result)) {
          if (requestState !== undefined) throw result.error ?? callLost(backend.name, name, ENDED)
          failure = result.failure
          return {}
        }
        recorded.result(result)
        return result['resultType'] === 'input_required' ? inputRequired(result) : result
      },
      finish: target.forwarded ?? ((result) => result),
    })
    return failure ?? text
  }

  async #forward(call: Call, { backend, name }: PlacedTarget, owner: Instance): Promise<Json | NotBegun> {
    // A later round is known by its ticket, and answered once.
    const isOnce = call.params['requestState'] === undefined
    const forwarded = await this.#parts.replicas.calls.forward(owner, asModern(call), { isOnce })
    if (forwarded.kind === 'gone') {
      if (forwarded.wasReached) throw callLost(backend.name, name, ENDED)
      return new NotBegun({ kind: forwarded.wasSent ? 'silent' : 'gone' })
    }
    try {
      return resultOf(forwarded.response)
    } catch (error) {
      const kind = whyNotBegun(error)
      if (kind === undefined || !(error instanceof Error)) throw error
      return new NotBegun({ kind }, kind === 'unplaced' ? error : undefined)
    }
  }
}

/** The call as one of the stateless era, as gateways send them to each other. One that asks for a task takes them. */
export function asModern(call: Call): Call & { readonly session?: string } {
  const peer = isObject(call.params['task']) || call.method.startsWith('tasks/') ? withTasks(call.peer) : call.peer
  return forwardable({ ...call, peer }, unused)
}

class NotBegun {
  readonly failure: ForwardFailure
  /** What a caller hears whose call has begun before. */
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

/** That it is there says that the caller can be asked. */
function unused(): Promise<Json> {
  return Promise.reject(new TypeError('The other gateway asks.'))
}
