/** Hooks for results without a handler, such as lists: they read and set the client's state (SEP-1655). */
import type { CallMethod } from '../call.ts'
import { type RequestContext, requestContext } from '../handler/requestContext.ts'
import type { Results } from '../results.ts'

/** The methods whose results no handler makes. */
const HOOKED_METHODS = [
  'server/discover',
  'initialize',
  'ping',
  'logging/setLevel',
  'tools/list',
  'prompts/list',
  'resources/list',
  'resources/templates/list',
  'resources/subscribe',
  'resources/unsubscribe',
] as const

/** The requests whose results a hook may change. */
export type HookedMethod = (typeof HOOKED_METHODS)[number]

/** Runs before the result is sent; the result carries what the hook set in `ctx.state`. */
export type ResultHook = (ctx: RequestContext) => void | Promise<void>

const known: ReadonlySet<string> = new Set(HOOKED_METHODS)

export class ResultHooks {
  readonly #results: Results
  readonly #hooks = new Map<string, ResultHook>()

  constructor(results: Results) {
    this.#results = results
  }

  get isEmpty(): boolean {
    return this.#hooks.size === 0
  }

  add(method: HookedMethod, hook: ResultHook): void {
    if (!known.has(method))
      throw new TypeError(
        `onResult has no method "${method}". It has: ${HOOKED_METHODS.join(', ')}. Handlers have ctx.state themselves.`,
      )
    if (typeof hook !== 'function') throw new TypeError('onResult needs a function: (ctx) => { … }.')
    if (this.#hooks.has(method)) throw new TypeError(`There is already a hook for the results of ${method}.`)
    this.#hooks.set(method, hook)
  }

  /** The method with its hook, if it has one. */
  hooked(name: string, method: CallMethod): CallMethod {
    const hook = this.#hooks.get(name)
    if (hook === undefined) return method
    return async (call) => {
      const text = await method(call)
      const ctx = requestContext(call)
      await hook(ctx)
      const { meta } = ctx.state
      return meta === undefined ? text : this.#results.withMeta(text, meta)
    }
  }
}
