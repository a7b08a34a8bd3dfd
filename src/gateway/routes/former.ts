/**
 * Routes that a reload has removed, kept until the drain timeout: running calls end there, and their clients can answer. No new
 * call begins there.
 */
import { type HeaderReader, unref } from '../../protocol/index.ts'
import type { DrainOptions } from '../../server/index.ts'
import { DRAIN_MS } from '../../server/internal.ts'

interface RemovedRoute {
  readonly path: string
  /** Recognizes messages of other gateways. */
  readonly assembly: { readonly cluster: { readonly mediaType: string } }
  drain(options: DrainOptions): Promise<void>
}

/** Methods that may be another round of a call. */
const CALLS: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read'])

export class FormerRoutes<Route extends RemovedRoute> {
  readonly #byPath = new Map<string, { readonly route: Route; readonly timer: ReturnType<typeof setTimeout> }>()

  get all(): readonly Route[] {
    return Array.from(this.#byPath.values(), ({ route }) => route)
  }

  keep(route: Route): void {
    const timer = setTimeout(() => {
      this.#byPath.delete(route.path)
      void route.drain({ deadlineMs: 0 })
    }, DRAIN_MS)
    this.#byPath.set(route.path, { route, timer: unref(timer) })
  }

  /** Removes and returns the route at a path that a new configuration has again. */
  take(path: string): Route | undefined {
    const former = this.#byPath.get(path)
    clearTimeout(former?.timer)
    this.#byPath.delete(path)
    return former?.route
  }

  /** The route for a request that may belong to a call that began before the route was removed. */
  at(path: string, header: HeaderReader): Route | undefined {
    const route = this.#byPath.get(path)?.route
    return route !== undefined && mayComeBack(header, route) ? route : undefined
  }
}

function mayComeBack(header: HeaderReader, { assembly }: RemovedRoute): boolean {
  const isOfSession = typeof header('mcp-session-id') === 'string'
  return isOfSession || CALLS.has(header('mcp-method') ?? '') || header('content-type') === assembly.cluster.mediaType
}
