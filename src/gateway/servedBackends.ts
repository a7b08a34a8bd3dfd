/**
 * The current servers of a gateway: the enabled ones of its configuration, in its order. A server whose entry was
 * changed or removed gets no new calls, and ends after its last call.
 */
import { unref } from '../protocol/index.ts'
import { DRAIN_MS } from '../server/internal.ts'
import type { Backend } from './backends/backend.ts'
import { type BackendConfig, difference, type GatewayConfig } from './config/index.ts'

export class ServedBackends {
  readonly #create: (config: BackendConfig) => Backend
  #config: GatewayConfig
  #all: readonly Backend[]
  /** Each resolves when a server that is no longer served is closed. */
  readonly #retiring = new Set<Promise<void>>()
  readonly #closing = Promise.withResolvers<void>()
  #firstTries: Promise<void> | undefined
  #isReady = false

  constructor(config: GatewayConfig, create: (config: BackendConfig) => Backend) {
    this.#config = config
    this.#create = create
    this.#all = servedBy(config).map(create)
  }

  get all(): readonly Backend[] {
    return this.#all
  }

  get names(): readonly string[] {
    return this.#all.map(({ name }) => name)
  }

  get hasStarted(): boolean {
    return this.#firstTries !== undefined
  }

  /** Resolves when lists no longer wait for starting servers; undefined after that. */
  get ready(): Promise<void> | undefined {
    return this.#isReady ? undefined : this.#firstTries
  }

  /** Connects to all of them. `deadlineMs`: maximum wait of lists for servers that are still starting. */
  start(deadlineMs: number): void {
    for (const backend of this.#all) backend.start()
    this.#firstTries = this.#triedWithin(deadlineMs)
  }

  async #triedWithin(deadlineMs: number): Promise<void> {
    const late = new Promise((resolve) => unref(setTimeout(resolve, deadlineMs)))
    await Promise.race([this.tried(), late])
    this.#isReady = true
  }

  async tried(): Promise<void> {
    await Promise.all(this.#all.map(({ connector }) => connector.tried))
  }

  /** Resolves when each server was tried, and each reachable one was judged stateful or stateless. */
  async judged(): Promise<void> {
    await Promise.all(this.#all.map((backend) => backend.judged()))
  }

  /** Applies another configuration. Returns the servers that are no longer served. */
  replace(config: GatewayConfig): readonly Backend[] {
    const before = this.#all
    const same = new Set(difference(this.#config, config).same.map(({ name }) => name))
    const kept = new Map(before.filter(({ name }) => same.has(name)).map((backend) => [backend.name, backend]))
    this.#config = config
    this.#all = servedBy(config).map((server) => kept.get(server.name) ?? this.#create(server))
    for (const backend of kept.values()) void backend.reread()
    if (this.hasStarted) for (const backend of this.#all) if (!before.includes(backend)) backend.start()
    return before.filter((backend) => !this.#all.includes(backend))
  }

  /** Closes servers that are no longer served. A server that calls may still need closes in the background. */
  async retire(left: readonly Backend[]): Promise<void> {
    const unused = left.filter((backend) => !isAwaited(backend))
    for (const backend of left) if (!unused.includes(backend)) this.#closeLater(backend)
    await Promise.all(unused.map((backend) => backend.close()))
  }

  /** Closes all servers, and ends their calls. */
  async close(): Promise<void> {
    this.#closing.resolve()
    await Promise.all([...this.#all.map((backend) => backend.close()), ...this.#retiring])
  }

  #closeLater(backend: Backend): void {
    const over = backend.era === 'legacy' ? backend.limits.idle(DRAIN_MS) : drainTime()
    const retired = Promise.race([over, this.#closing.promise])
      .then(() => backend.close())
      .finally(() => this.#retiring.delete(retired))
    this.#retiring.add(retired)
  }
}

/** Whether calls may still need the server. A call of the stateless era has no request in flight between two rounds. */
function isAwaited({ limits: { inFlight }, era, connector: { about } }: Backend): boolean {
  return inFlight > 0 || (about !== undefined && era === 'modern')
}

function drainTime(): Promise<void> {
  return new Promise((resolve) => unref(setTimeout(resolve, DRAIN_MS)))
}

function servedBy({ servers }: GatewayConfig): readonly BackendConfig[] {
  return servers.filter(({ settings }) => !settings.disabled)
}
