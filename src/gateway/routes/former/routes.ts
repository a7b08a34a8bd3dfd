/**
 * Routes that a reload has removed. Clients whose calls wait or run there can come back until the drain timeout; for
 * everything else the route is gone.
 */
import { type HeaderReader, unref } from '../../../protocol/index.ts'
import { DRAIN_MS } from '../../../server/internal.ts'
import type { Route } from '../route.ts'

interface FormerRoute {
  readonly route: Route
  readonly timer: ReturnType<typeof setTimeout>
}

/** Methods that may be another round of a call. */
const CALLS: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read'])

export class FormerRoutes {
  readonly #byPath = new Map<string, FormerRoute>()

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

  /** The route of a path that the configuration has again. */
  take(path: string): Route | undefined {
    const former = this.#byPath.get(path)
    clearTimeout(former?.timer)
    this.#byPath.delete(path)
    return former?.route
  }

  /** The route for a request that may belong to a call that began there. */
  at(path: string, header: HeaderReader): Route | undefined {
    const route = this.#byPath.get(path)?.route
    return route !== undefined && mayComeBack(header, route) ? route : undefined
  }
}

function mayComeBack(header: HeaderReader, { assembly }: Route): boolean {
  const isOfSession = typeof header('mcp-session-id') === 'string'
  return isOfSession || CALLS.has(header('mcp-method') ?? '') || header('content-type') === assembly.cluster.mediaType
}
