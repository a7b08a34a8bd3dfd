/**
 * Code of an application around calls: audit, tenants, quotas. A middleware runs around each round of a call and each
 * run of a task, after the entry was found, the caller allowed and the arguments checked.
 */
import type { Implementation, InputRequest } from '@modelcontextprotocol/client'
import type { Journal } from '../../journal/index.ts'
import { type Era, isObject, type Json, toObject } from '../../protocol/index.ts'
import type { Principal } from '../auth/authenticator.ts'
import type { Call, Peer } from '../call.ts'
import type { Results } from '../results.ts'
import type { Subject } from './carrier.ts'

/** A round of a call, as a middleware sees it. */
export interface HandlerCall {
  /** The called entry. */
  readonly kind: 'tool' | 'prompt' | 'resource'
  /** The name of the tool or prompt, or the URI of the resource. */
  readonly name: string
  /** The arguments as the client sent them. They fit the entry's schema. Empty for a resource. */
  readonly args: Readonly<Json>
  /** The same in all rounds of one call. */
  readonly id: string
  /** 1 for the first round of a call. */
  readonly round: number
  /** The id of the task whose handler runs; undefined in a round of a call, also in one that becomes a task. */
  readonly task: string | undefined
  readonly principal: Principal | undefined
  /** The client's own name, not verified. */
  readonly client: Implementation | undefined
  readonly era: Era
  /** The request's `_meta`. */
  readonly meta: Readonly<Json>
}

/**
 * The result of a round: the result of the tool, prompt or resource; or, with `resultType: 'input_required'`, its
 * questions in `inputRequests`; or, with `resultType: 'task'`, the task that the call became. Give the last two back as
 * they are.
 */
export interface CallResult {
  readonly resultType?: string | undefined
  readonly isError?: boolean | undefined
  readonly [member: string]: unknown
}

/** `next` runs the round. Throw a ProtocolError to refuse it, or return another result. */
export type Middleware = (call: HandlerCall, next: () => Promise<CallResult>) => CallResult | Promise<CallResult>

export class MiddlewareChain {
  readonly #middlewares: Middleware[] = []

  get isEmpty(): boolean {
    return this.#middlewares.length === 0
  }

  add(middleware: Middleware): void {
    if (typeof middleware !== 'function') throw new TypeError('use() needs a function: (call, next) => next().')
    this.#middlewares.push(middleware)
  }

  /** Runs the middlewares in the order they were added, and inside of them the round. */
  async run(call: HandlerCall, round: () => Promise<CallResult>, index = 0): Promise<CallResult> {
    const middleware = this.#middlewares[index]
    if (middleware === undefined) return round()
    let isCalled = false
    const result = await middleware(call, () => {
      if (isCalled) return Promise.reject(new TypeError('A middleware called next() twice.'))
      isCalled = true
      const going = this.run(call, round, index + 1)
      going.catch(() => {}) // the middleware may not wait for it
      return going
    })
    if (isObject(result)) return result
    throw new TypeError('A middleware must return a result: what next() gave, or another one.')
  }
}

export function handlerCall(call: Call, { name, args }: Subject, { id, round }: Journal, task?: string): HandlerCall {
  const { method, peer, principal, meta } = call
  const kind = method === 'tools/call' ? 'tool' : method === 'prompts/get' ? 'prompt' : 'resource'
  const { client, era } = peer
  return { kind, name, args: isObject(args) ? args : {}, id, round: round + 1, task, principal, client, era, meta }
}

/**
 * A round that has no result yet. Middlewares cannot change the value that goes to the client or to the task's store.
 */
export class UnfinishedResult<T> implements CallResult {
  readonly [member: string]: unknown
  readonly resultType: 'input_required' | 'task'
  readonly #outcome: T

  constructor(resultType: 'input_required' | 'task', outcome: T, requests?: ReadonlyMap<string, InputRequest>) {
    this.resultType = resultType
    this.#outcome = outcome
    if (requests !== undefined) Object.assign(this, { inputRequests: toObject(requests) })
  }

  /** Undefined for the result of a round that is complete. Throws for a copy. */
  static outcomeOf<T>(result: CallResult): T | undefined {
    if (result instanceof UnfinishedResult) return (result as UnfinishedResult<T>).#outcome
    if (result.resultType === undefined || result.resultType === 'complete') return undefined
    throw new TypeError('A middleware must return questions and tasks as next() gave them, and not a copy.')
  }
}

/** Results of one round that are written when all middlewares have seen them. */
export class UnwrittenResults {
  readonly #results: Results
  readonly #call: Call
  #given: Json | undefined
  #meta: Json | undefined

  constructor(results: Results, call: Call) {
    this.#results = results
    this.#call = call
  }

  complete(result: Json, _peer: Peer, meta?: Json): CallResult {
    this.#given = result
    this.#meta = meta
    return result
  }

  inputRequired(
    requests: ReadonlyMap<string, InputRequest>,
    requestState: string | undefined,
    peer: Peer,
    meta?: Json,
  ): CallResult {
    const text = this.#results.inputRequired(requests, requestState, peer, meta)
    return new UnfinishedResult('input_required', text, requests)
  }

  task(text: string): CallResult {
    return new UnfinishedResult('task', text)
  }

  write(result: CallResult): string {
    const text = UnfinishedResult.outcomeOf<string>(result)
    if (text !== undefined) return text
    if (result !== this.#given && result.isError === true) this.#call.observer?.toolFailed()
    return this.#results.complete(result, this.#call.peer, this.#meta)
  }
}
