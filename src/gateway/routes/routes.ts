/** The addresses of a gateway: `/mcp` for all servers, and `/mcp/NAME` for each. */
import type { DrainOptions, ServerOptions } from '../../server/index.ts'
import type { Connections } from '../../server/internal.ts'
import type { Backend } from '../backends/backend.ts'
import { type CatalogNames, createNames, type NamedServer, unionInstructions } from '../catalog/index.ts'
import { Barrier } from './barrier.ts'
import { plainNames, prefixedNames } from './names.ts'
import { Route } from './route.ts'

export const UNION_PATH = '/mcp'

export interface RoutesOptions {
  /** The servers behind the gateway, in order. */
  readonly backends: () => readonly Backend[]
  /** Resolves when all servers were tried, or have had their time. */
  readonly ready: () => Promise<void> | undefined
  readonly server: ServerOptions
  readonly guards: Pick<ServerOptions, 'allowedHosts' | 'allowedOrigins'>
}

export class Routes {
  readonly union: Route
  readonly #options: RoutesOptions
  readonly #byPath = new Map<string, Route>()
  #names: CatalogNames = createNames([])
  #barrier: Barrier | undefined
  #base: string | undefined

  constructor(options: RoutesOptions) {
    this.#options = options
    const instructions = (): string | undefined => unionInstructions(options.backends().map(this.#instructed))
    this.union = this.#create(UNION_PATH, {
      names: () => prefixedNames(this.#names),
      backends: options.backends,
      instructions,
    })
    this.#byPath.set(UNION_PATH, this.union)
  }

  /** The route at a path, or whose metadata document is there. */
  at(path: string): Route | undefined {
    const found = this.#byPath.get(path.endsWith('/') ? path.slice(0, -1) : path)
    if (found !== undefined) return found
    for (const route of this.#byPath.values()) if (route.assembly.endpoint.documents.has(path)) return route
    return undefined
  }

  /** Serves these servers from now on. Those that were served before keep their routes, with all that goes on there. */
  set(servers: readonly NamedServer[], served: readonly string[]): void {
    this.#names = createNames(servers)
    const paths = new Map(served.map((name) => [pathOf(name), name]))
    for (const [path, route] of this.#byPath) {
      if (path === UNION_PATH || paths.has(path)) continue
      this.#byPath.delete(path)
      void route.shutdown.drain()
    }
    for (const [path, name] of paths) {
      if (this.#byPath.has(path)) continue
      const backends = (): readonly Backend[] => this.#options.backends().filter((backend) => backend.name === name)
      const instructions = (): string | undefined => backends()[0]?.about?.instructions
      const route = this.#create(path, { names: () => plainNames(name), backends, instructions })
      this.#byPath.set(path, route)
      this.#open(route)
    }
    this.refresh()
  }

  /** From now on all routes are reached by this listener. */
  listen(connections: Pick<Connections, 'announceClose' | 'close'>, base: string): void {
    this.#barrier = new Barrier(connections)
    this.#base = base
    for (const route of this.#byPath.values()) this.#open(route)
  }

  /** Lists what the servers offer now. */
  refresh(): void {
    for (const route of this.#byPath.values()) route.refresh()
  }

  updated(backend: Backend, uri: string): void {
    for (const route of this.#byPath.values()) route.updated(backend, uri)
  }

  async open(): Promise<void> {
    await Promise.all(Array.from(this.#byPath.values(), (route) => route.open()))
  }

  async drain(options: DrainOptions): Promise<void> {
    await Promise.all(Array.from(this.#byPath.values(), ({ shutdown }) => shutdown.drain(options)))
  }

  #open(route: Route): void {
    if (this.#barrier === undefined || this.#base === undefined) return
    route.assembly.self.url ??= new URL(route.path, this.#base).href
    route.shutdown.addListener(this.#barrier.join())
  }

  #create(
    path: string,
    parts: Pick<ConstructorParameters<typeof Route>[0], 'names' | 'backends' | 'instructions'>,
  ): Route {
    const { ready, server, guards } = this.#options
    return new Route({ path, ...parts, ready, server, guards })
  }

  readonly #instructed = ({ name, about }: Backend) => ({
    name,
    prefix: this.#names.prefix(name),
    instructions: about?.instructions,
  })
}

function pathOf(server: string): string {
  return `${UNION_PATH}/${encodeURIComponent(server)}`
}
