/** One process of our server: the real one, behind the simulated network. It does what `Server.listen` does. */
import { assemble, fetchHandler, Shutdown } from '../../src/server/internal.ts'
import type { ServerOptions } from '../../src/server/options.ts'
import type { Database } from './stores.ts'
import type { Network } from './network.ts'
import { toolEntries, type ToolWorld } from './tools.ts'
import { Host } from './world.ts'

export interface ProcessOptions extends ToolWorld {
  readonly name: string
  readonly url: string
  readonly peers: readonly string[]
  readonly network: Network
  /** Called when it takes the process at an address for gone. */
  readonly onVacated: (url: string) => void
  /** Absent where processes have only each other. */
  readonly database: Database | undefined
}

const SILENT = { debug: () => {}, info: () => {}, warn: () => {}, error: () => {} }
const LOOK_EVERY_MS = 50

export const SERVER: ServerOptions = {
  name: 'simulated',
  version: '1.0.0',
  keys: Buffer.alloc(32, 7).toString('base64url'),
  logger: SILENT,
}

type Assembly = ReturnType<typeof assemble>

export class SimulatedProcess {
  readonly host: Host
  readonly url: string
  isStopping = false
  wasKilled = false
  /** Whether another process took it for gone. */
  isDoubted = false
  /** Whether it has looked for the others once, after which `Server.listen` resolves. */
  isReady = false
  readonly #options: ProcessOptions
  #assembly: Assembly | undefined
  #shutdown: Shutdown | undefined

  constructor(options: ProcessOptions) {
    this.#options = options
    this.host = new Host(options.name)
    this.url = options.url
    options.world.schedule(this.host, 0, () => this.#start())
  }

  get isThere(): boolean {
    return this.host.state !== 'dead'
  }

  /** The id by which other instances know it. */
  get id(): string {
    return this.#assembly?.cluster.self.id ?? ''
  }

  /** How many members it knows. */
  get members(): number {
    return this.#assembly?.cluster.members.known().length ?? 0
  }

  get inFlight(): number {
    return this.#assembly?.load.inFlight ?? 0
  }

  /** SIGKILL. */
  kill(): void {
    this.wasKilled = true
    this.#end(false)
  }

  /** SIGTERM. Calls `onExit` when the process has ended. */
  stop(deadlineMs: number, onExit: () => void): void {
    const { world } = this.#options
    if (this.isStopping || !this.isThere) return
    this.isStopping = true
    world.schedule(this.host, 0, () => {
      const exit = (): void => {
        if (!this.isThere) return
        this.#end(true)
        onExit()
      }
      void this.#shutdown?.drain({ deadlineMs }).then(exit)
    })
  }

  #start(): void {
    const { world, network, peers, database, url } = this.#options
    const stores = database && { ledger: database.ledger, store: database.store }
    const assembly = assemble({ ...SERVER, advertise: url, peers, ...stores })
    for (const entry of toolEntries(this.#options, this.host.name)) assembly.registry.addTool(entry)
    assembly.declaration.reachedBy('http')
    assembly.cluster.members.listen({ doubted: () => void (this.isDoubted = true), vacated: this.#options.onVacated })
    void assembly.open()
    const serve = fetchHandler(assembly.endpoint, {})
    network.listen(url, { host: this.host, serve })
    const shutdown = new Shutdown(assembly)
    shutdown.addListener({ announceClose: () => {}, close: () => this.#close() })
    this.#assembly = assembly
    this.#shutdown = shutdown
    const { id } = assembly.cluster.self // made here, so that a traced run takes the same random numbers
    world.note(() => `${this.host.name} starts as ${id} at ${url}`)
    void assembly.cluster.seek().then(() => (this.isReady = true))
  }

  /** Closes the listener; resolves when all requests are answered. */
  async #close(): Promise<void> {
    const { network } = this.#options
    network.stopListening(this.url, this.host)
    while (network.openAt(this.host) > 0) await new Promise((resolve) => setTimeout(resolve, LOOK_EVERY_MS))
  }

  #end(isTidy: boolean): void {
    const { world, network } = this.#options
    world.note(() => `${this.host.name} ${isTidy ? 'exits' : 'is killed'}`)
    world.kill(this.host)
    network.stopListening(this.url, this.host)
    network.gone(this.host, isTidy)
  }
}
