/**
 * The primary process of a gateway with several workers. It serves no client: it starts and restarts the workers, sends
 * them configurations, and counts and reports for all of them.
 *
 * Invariant: a worker serves clients only after it has met all other workers. Otherwise a new worker could take another
 * one for gone, and claim its callers.
 */
import cluster from 'node:cluster'
import { DRAIN_MS } from '../../server/internal.ts'
import { newKey } from '../../state/seal/index.ts'
import { hasKeys, missingKeys } from '../setupWarnings.ts'
import type { ConsoleReply, ConsoleRequest } from '../admin/console/types.ts'
import type { GatewayConfig } from '../config/index.ts'
import { newGatewayId, startedBy } from '../loops.ts'
import {
  ProcessGoneError,
  type ServeAddress,
  type WorkerReport,
  type WorkerStart,
  type WorkerTable,
  type WorkerTableOptions,
} from './channel.ts'
import { WorkersState } from './sharedState.ts'
import { withTimeout, SilentWorkerError, WorkerSlot } from './slot.ts'

export interface WorkersOptions {
  readonly workers: number
  /** The environment variables that make a process a worker. */
  readonly env: Readonly<Record<string, string>>
  readonly config: GatewayConfig
  /** Called when a worker has ended, and when its replacement serves. */
  readonly onNews: (sentence: string) => void
}

/** The state of a worker, for operators. */
export interface WorkerState {
  readonly worker: number
  readonly pid: number | undefined
  /** Whether its process has started. */
  readonly hasStarted: boolean
  /** Undefined while it starts, or if it does not answer. */
  readonly report: WorkerReport | undefined
}

/** Timeout for the report of a worker. */
const REPORT_MS = 2000
/** Timeout for what a worker answers to the console. */
const CONSOLE_MS = 10_000
/** Timeout for the drain of a worker: its calls, and the processes of its servers. */
const WORKER_DRAIN_MS = DRAIN_MS + 10_000

export class Workers {
  readonly #options: WorkersOptions
  readonly #slots: readonly WorkerSlot[]
  readonly #keys: string | undefined
  readonly #id = newGatewayId()
  readonly #stopped = new AbortController()
  readonly #warned = new Set<string>()
  #config: GatewayConfig
  #at: ServeAddress | undefined
  /** The address of clients; undefined until all workers serve. */
  #url: string | undefined

  constructor(options: WorkersOptions) {
    startedBy(options.config.file) // throws if this gateway is behind itself
    const shared = new WorkersState()
    this.#options = options
    this.#config = options.config
    this.#keys = hasKeys(options.config) ? undefined : newKey()
    this.#slots = Array.from({ length: options.workers }, (_, index) => {
      return new WorkerSlot({
        worker: index + 1,
        env: options.env,
        shared,
        onWarning: (sentence) => this.#warn(sentence),
        onEnd: (slot, how) => this.#ended(slot, how),
      })
    })
    // Configurations contain values that JSON cannot represent.
    cluster.setupPrimary({ serialization: 'advanced' })
  }

  /** Resolves with the address when all workers serve. */
  async start(at: ServeAddress): Promise<string> {
    this.#at = at
    const warning = missingKeys(this.#config)
    if (warning !== undefined) this.#options.onNews(warning)
    await Promise.all(this.#slots.map((slot) => this.#begin(slot)))
    const [first] = await Promise.all(this.#slots.map((slot) => this.#serve(slot)))
    if (first === undefined) throw new TypeError('A gateway has at least one worker.')
    this.#url = first
    return first
  }

  /** Applies another configuration in all workers. */
  async reload(config: GatewayConfig): Promise<void> {
    this.#config = config
    const there = this.#slots.filter(({ url }) => url !== undefined)
    // A worker that ends in the meantime gets the configuration with its restart.
    await Promise.all(there.map((slot) => this.#tell(slot, slot.ask('reload', config))))
    // The workers meet once more after a reload.
    await Promise.all(there.map((slot) => this.#tell(slot, slot.ask('meet', { others: this.#othersOf(slot) }))))
  }

  /** Waits for a worker's reload. A frozen worker would serve the old configuration, so it is killed and replaced. */
  async #tell(slot: WorkerSlot, told: Promise<void>): Promise<void> {
    try {
      await slot.whileAwake(told)
    } catch (error) {
      if (error instanceof ProcessGoneError) return
      if (!(error instanceof SilentWorkerError)) throw error
      this.#options.onNews(`Worker ${slot.worker} does not answer, and is ended.`)
      slot.kill()
    }
  }

  /** The table of served servers; undefined if no worker can report it. */
  async table(options: WorkerTableOptions): Promise<WorkerTable | undefined> {
    return this.#slots.find(({ isServing }) => isServing)?.ask('table', options)
  }

  states(): Promise<readonly WorkerState[]> {
    return Promise.all(
      this.#slots.map(async (slot) => {
        const { worker, pid, url } = slot
        const hasStarted = url !== undefined
        const report = hasStarted
          ? await withTimeout(slot.ask('report', {}), REPORT_MS).catch(() => undefined)
          : undefined
        return { worker, pid, hasStarted, report }
      }),
    )
  }

  /** Asks a worker that serves, and the next one where it does not answer. A change is asked of one alone. */
  readonly askConsole = async (request: ConsoleRequest): Promise<ConsoleReply> => {
    for (const slot of this.#slots.filter(({ isServing }) => isServing)) {
      const reply = await withTimeout(slot.ask('console', request), CONSOLE_MS).catch(() => undefined)
      if (reply !== undefined) return reply
      if (request.kind === 'act') break
    }
    return { refused: { status: 503, error: 'No worker answers. The gateway starts others in their place.' } }
  }

  /** Lets the calls of all workers finish, and ends them. */
  async drain(): Promise<void> {
    this.#stopped.abort()
    await Promise.all(
      this.#slots.map(async (slot) => {
        await withTimeout(slot.whileAwake(slot.ask('drain', {})), WORKER_DRAIN_MS).catch(() => {}) // the worker has ended, or does not answer
        slot.kill()
        await slot.ended
      }),
    )
  }

  /** Starts a process with the current configuration, which may change while it starts. */
  async #begin(slot: WorkerSlot): Promise<void> {
    const start = this.#start(slot)
    await slot.start(start)
    if (start.config !== this.#config) await slot.ask('reload', this.#config)
  }

  async #serve(slot: WorkerSlot): Promise<string> {
    if (this.#at === undefined) throw new TypeError('No address was said.')
    const url = await slot.ask('serve', { others: this.#othersOf(slot), at: this.#at })
    slot.isServing = true
    return url
  }

  #warn(sentence: string): void {
    if (!this.#warned.has(sentence)) this.#options.onNews(sentence)
    this.#warned.add(sentence)
  }

  #othersOf(slot: WorkerSlot): readonly string[] {
    return this.#slots.flatMap((other) => (other === slot || other.url === undefined ? [] : [other.url]))
  }

  #ended(slot: WorkerSlot, how: string): void {
    const { signal } = this.#stopped
    const { onNews } = this.#options
    if (this.#url === undefined || signal.aborted) return
    onNews(`Worker ${slot.worker} ended (${how}). Another one is started in its place.`)
    void slot.restart({ serve: () => this.#serveAgain(slot), onNews, signal })
  }

  async #serveAgain(slot: WorkerSlot): Promise<void> {
    await this.#begin(slot)
    const url = await this.#serve(slot)
    this.#options.onNews(`Worker ${slot.worker} serves again.`)
    // With port 0, the port changes after all workers have ended.
    if (url !== this.#url) this.#options.onNews(`Serving ${url}`)
    this.#url = url
  }

  #start({ worker }: WorkerSlot): WorkerStart {
    return {
      config: this.#config,
      worker,
      workers: this.#slots.length,
      keys: this.#keys,
      id: this.#id,
      own: ownAddress(worker, this.#at?.port ?? 0, process.env['PANNIER_ADVERTISE']),
    }
  }
}

const NO_TLS =
  'PANNIER_ADVERTISE is an https: address, and the workers of a gateway are reached without TLS. Set one with http:, or start gateways of one process each, which a proxy with TLS may stand before.'

const WRONG_ADDRESS =
  'PANNIER_ADVERTISE must be an address of this gateway as others reach it, such as "http://10.0.0.7:8931".'
const NO_ADDRESS = { protocol: '', hostname: '', port: '' }

/**
 * The address at which other workers reach a worker: a free port on loopback, or the host of PANNIER_ADVERTISE. The
 * workers get consecutive ports from its port on, or free ports if that is the clients' port.
 */
export function ownAddress(worker: number, clientPort: number, advertise: string | undefined): WorkerStart['own'] {
  if (advertise === undefined || advertise === '') return { host: '127.0.0.1', port: 0, advertise: undefined }
  const { protocol, hostname, port } = URL.parse(advertise) ?? NO_ADDRESS
  if (!/^https?:$/.test(protocol)) throw new TypeError(WRONG_ADDRESS)
  if (protocol === 'https:') throw new TypeError(NO_TLS)
  const first = Number(port)
  const isOwn = first !== 0 && first !== clientPort
  return {
    host: hostname.startsWith('[') ? '::' : '0.0.0.0',
    port: isOwn ? first + worker - 1 : 0,
    advertise: hostname,
  }
}
