/**
 * A worker of a gateway: one of several processes that serve clients at one address. It is a complete gateway, which the
 * other workers reach at its own address. The primary process controls it.
 *
 * - It ends with the primary, also if the primary crashes.
 * - A terminal sends signals to all processes of a group. The primary handles them, so a worker ignores all but SIGTERM,
 *   by which an operator replaces a single worker.
 */
import cluster from 'node:cluster'
import type { RateStore } from '../../state/stores/index.ts'
import type { BackendConfig, GatewayConfig } from '../config/index.ts'
import type { Gateway } from '../createGateway.ts'
import type { GatewayOptions, LimitCounters, WorkerSiblings } from '../options.ts'
import { type MetricsText, prometheusMetrics } from '../telemetry/prometheus.ts'
import {
  IpcChannel,
  type PrimaryMethods,
  type WorkerMethods,
  type WorkerStart,
  type WorkerTable,
  type WorkerTableOptions,
} from './channel.ts'

export interface GatewayWorkerOptions {
  readonly create: (options: GatewayOptions) => Gateway
  readonly tableOf: (gateway: Gateway, options: WorkerTableOptions) => Promise<WorkerTable>
}

/** Maximum time for servers to end when the primary is gone. */
const ORPHAN_MS = 5000

/** Runs until the primary process ends it, or ends itself: then this process ends. */
export function runGatewayWorker(options: GatewayWorkerOptions): Promise<never> {
  const worker = new GatewayWorker(options)
  for (const signal of ['SIGINT', 'SIGHUP'] as const) process.on(signal, () => {})
  process.on('SIGTERM', () => void worker.drain().then(() => process.exit(0)))
  cluster.worker?.once('disconnect', () => {
    // On a disconnect, Node would exit at once. Server processes that ignore the end of their input would keep
    // running.
    if (cluster.worker !== undefined) cluster.worker.exitedAfterDisconnect = true
    setTimeout(() => process.exit(1), ORPHAN_MS)
    void worker.drain(0).finally(() => process.exit(1))
  })
  return new Promise(() => {})
}

class GatewayWorker {
  readonly #options: GatewayWorkerOptions
  readonly #primary: IpcChannel<WorkerMethods, PrimaryMethods>
  #gateway: Gateway | undefined
  #place: WorkerPlace = { worker: 1, workers: 1 }
  #metrics: MetricsText | undefined

  constructor(options: GatewayWorkerOptions) {
    this.#options = options
    this.#primary = new IpcChannel<WorkerMethods, PrimaryMethods>(ownEnd(), {
      start: (start) => this.#start(start),
      serve: async ({ others, at }) => {
        await this.#served.meet(others)
        return (await this.#served.listen({ ...at, drainOnTerm: false })).url
      },
      meet: ({ others }) => this.#served.meet(others),
      reload: (config) => this.#served.reload(splitLimits(config, this.#place)),
      report: async () => ({ ...this.#served.report(), metrics: await this.#metrics?.() }),
      console: (request) => this.#served.console.ask(request),
      ping: () => {},
      table: (params) => options.tableOf(this.#served, params),
      drain: () => this.drain(),
    })
  }

  async drain(deadlineMs?: number): Promise<void> {
    await this.#gateway?.drain(deadlineMs === undefined ? {} : { deadlineMs })
  }

  async #start({ config, own, keys, id, ...place }: WorkerStart): Promise<string> {
    this.#place = place
    this.#metrics = config.settings.admin === false ? undefined : await prometheusMetrics()
    const shared = splitLimits(config, place)
    const workers: WorkerSiblings = {
      count: place.workers,
      warn: (sentence) => void this.#primary.ask('warn', { sentence }).catch(() => {}), // the gateway ends with the primary
    }
    this.#gateway = this.#options.create({ ...shared, id, ...(keys && { keys }), counters: this.#counters(), workers })
    return this.#gateway.listenForReplicas(own)
  }

  get #served(): Gateway {
    if (this.#gateway === undefined) throw new Error('This worker was not started.')
    return this.#gateway
  }

  /** One count for all workers. */
  #counters(): LimitCounters {
    const store: RateStore = { count: (key, limit) => this.#primary.ask('count', { key, limit }) }
    const calls = {
      begin: (caller: string, limit: number) => this.#primary.ask('begin', { caller, limit }),
      end: (caller: string) => void this.#primary.ask('end', { caller }).catch(() => {}), // the gateway ends with the primary
    }
    return { store, calls }
  }
}

function ownEnd() {
  return {
    send: (message: object, sent: (error: Error | null) => void) => process.send?.(message, sent) ?? false,
    on: (_: 'message', listener: (message: unknown) => void) => process.on('message', listener),
    once: (_: 'disconnect', listener: () => void) => process.once('disconnect', listener),
  }
}

/** The number of a worker, from 1, and the number of all workers. */
export interface WorkerPlace {
  readonly worker: number
  readonly workers: number
}

/** The limits of a server count for all workers together, so each worker gets its share. */
const SPLIT = ['maxProcesses', 'maxSessions', 'maxInFlight'] as const

export function splitLimits(config: GatewayConfig, place: WorkerPlace): GatewayConfig {
  return { ...config, servers: config.servers.map((server) => splitServer(server, place)) }
}

/**
 * The servers with a limit below the number of workers, so that all workers together exceed it: each gets at least one.
 */
export function overdrawn({ servers }: GatewayConfig, workers: number): readonly string[] {
  const isTooFew = ({ settings }: BackendConfig): boolean => SPLIT.some((limit) => settings[limit] < workers)
  return servers.filter(isTooFew).map(({ name }) => name)
}

function splitServer(server: BackendConfig, place: WorkerPlace): BackendConfig {
  const limits = Object.fromEntries(SPLIT.map((limit) => [limit, share(server.settings[limit], place)]))
  return { ...server, settings: { ...server.settings, ...limits } }
}

/** The first workers get the remainder, and each gets at least one. */
export function share(limit: number, { worker, workers }: WorkerPlace): number {
  const even = Math.floor(limit / workers)
  return Math.max(1, even + (worker <= limit % workers ? 1 : 0))
}
