/** One address of the gateway: a server of both eras whose calls are answered by the servers behind it. */
import {
  assemble,
  type Assembly,
  type Capability,
  type FetchHandler,
  fetchHandler,
  keyringOf,
  type NodeHandler,
  nodeHandler,
  Shutdown,
} from '../../server/internal.ts'
import type { DrainOptions, ServerOptions } from '../../server/index.ts'
import { createMarks } from '../../state/seal/index.ts'
import type { Json } from '../../protocol/index.ts'
import type { Backend } from '../backends/backend.ts'
import { PassthroughHandler } from '../passthrough/handler.ts'
import { type ListedTools, RouteDirectory, type RouteScope } from './directory.ts'
import type { Parking } from '../parking/parking.ts'
import { FormerDirectories } from './former/directories.ts'
import { OwnLists } from './ownLists.ts'
import { routeMethods } from './methods.ts'
import type { BackendTarget } from './relay.ts'
import { TaskIds } from './tasks/ids.ts'
import { RelayedTasks } from './tasks/service.ts'
import { CallRecorder } from '../telemetry/calls.ts'
import type { GatewayMetrics } from '../telemetry/metrics.ts'
import { LoopGuard } from '../loops/guard.ts'
import type { Via } from '../loops/via.ts'

/** All of it is watched at the servers behind, too. */
const MAX_WATCHED = 10_000

export interface RouteOptions {
  /** Where it is served, such as `/mcp/github`. */
  readonly path: string
  readonly scope: RouteScope
  /** What it may have, now or later. */
  readonly capabilities: ReadonlySet<Capability>
  readonly instructions: () => string | undefined
  /** For the `_meta` of its lists. */
  readonly listMeta?: () => Json | undefined
  /** The server whose own address this is: what can pass to it as bytes does. */
  readonly alone?: () => Backend | undefined
  /** Resolves when all servers were tried, or have had their time. */
  readonly ready: () => Promise<void> | undefined
  /** How long a list waits for a server that lists something else to each caller. */
  readonly listDeadlineMs: number
  readonly server: ServerOptions
  readonly metrics: GatewayMetrics
  readonly via: Via
  readonly parking: Parking
  readonly guards: Pick<ServerOptions, 'allowedHosts' | 'allowedOrigins'>
}

export class Route {
  readonly path: string
  readonly assembly: Assembly
  readonly shutdown: Shutdown
  readonly node: NodeHandler
  readonly fetch: FetchHandler
  readonly #directory: RouteDirectory
  readonly #former = new FormerDirectories()
  readonly #own: OwnLists
  /** The resources that clients watch, by their address here. */
  readonly #watched = new Map<string, BackendTarget>()
  readonly #passthrough: PassthroughHandler | undefined
  readonly #options: RouteOptions

  constructor(options: RouteOptions) {
    const { path, scope, capabilities, instructions, ready, server, guards, parking, metrics, alone } = options
    this.#options = options
    this.path = path
    const directory = new RouteDirectory(scope)
    const own = new OwnLists({ scope, alone, waitMs: options.listDeadlineMs })
    this.#directory = directory
    this.#own = own
    const recorder = new CallRecorder({ route: path, logger: server.logger, metrics })
    const keyring = keyringOf(server)
    const ids = new TaskIds(createMarks(keyring, `task ${path}`))
    const tasks = new RelayedTasks({ backends: scope.backends, ids })
    this.assembly = assemble(
      { ...server, keys: keyring, tasks, audience: `${server.audience ?? server.name} ${path}` },
      {
        handlers: (parts) => {
          tasks.join(parts)
          own.lists = parts.lists
          return routeMethods({ path, directory, own, former: this.#former, parking, recorder, tasks }, parts)
        },
        ownLists: own.of,
        instructions,
        listMeta: options.listMeta ?? (() => undefined),
        ready,
        keepsState: () => directory.keepsState,
      },
    )
    // Servers that come up later may have any of them, and clients look only once.
    this.assembly.registry.declared = capabilities
    this.assembly.watched.max = MAX_WATCHED
    this.assembly.replicas.messages.serves = (caller) => scope.backends().some(({ leases }) => leases?.holds(caller))
    this.assembly.watched.onChange = (uri, isWatched) => this.#watch(uri, isWatched)
    this.shutdown = new Shutdown(this.assembly, 'debug') // the gateway says it for all of them
    this.#passthrough = alone && this.#passthroughTo(alone)
    const leadsBack = (header: string): boolean => alone?.()?.via.leadsTo(header) === true
    const handler = new LoopGuard(options.via, this.#passthrough ?? this.assembly.endpoint.handler, leadsBack)
    const endpoint = { ...this.assembly.endpoint, handler }
    this.node = nodeHandler(endpoint, guards)
    this.fetch = fetchHandler(endpoint, guards)
  }

  /** Opens the route: from now on clients are told when its lists change. */
  async open(): Promise<void> {
    await this.assembly.open()
    this.assembly.declaration.reachedBy('http')
  }

  #passthroughTo(backend: () => Backend | undefined): PassthroughHandler {
    const { load, limits, logger: faults, endpoint } = this.assembly
    const { path: route, server, metrics } = this.#options
    return new PassthroughHandler({
      load,
      limits,
      faults,
      inner: endpoint.handler,
      backend: () => (this.#former.mayHaveParked ? undefined : backend()),
      route,
      logger: server.logger,
      metrics,
    })
  }

  /** `awaited`: clients may come back until this resolves. */
  drain(options?: DrainOptions, awaited?: Promise<void>): Promise<void> {
    const drained = this.shutdown.drain(options, awaited)
    this.#passthrough?.close()
    return drained
  }

  get listedTools(): ListedTools {
    return this.#directory.listedTools
  }

  /** Another configuration is served from now on. Calls that wait go on under the names of this one. */
  keepNames(): void {
    this.#former.keep(this.#directory)
  }

  /** Lists what the servers offer now. */
  refresh(): void {
    const { entries, changed } = this.#directory.refresh()
    this.#own.refresh()
    if (changed.length > 0) this.assembly.registry.replace(entries, changed)
  }

  /** Tells clients that watch a resource of a server that it has changed. */
  updated(backend: Backend, uri: string): void {
    for (const [exposed, watched] of this.#watched)
      if (watched.backend === backend && watched.name === uri)
        this.assembly.bus.publish({ kind: 'updated', uri: exposed })
  }

  /** What is watched here is watched at the server that has it. */
  #watch(uri: string, isWatched: boolean): void {
    const target = isWatched ? this.#directory.resource(uri) : this.#watched.get(uri)
    if (target === undefined) return
    if (isWatched) this.#watched.set(uri, target)
    else this.#watched.delete(uri)
    if (isWatched) target.backend.subscriptions.subscribe(target.name)
    else target.backend.subscriptions.unsubscribe(target.name)
  }
}
