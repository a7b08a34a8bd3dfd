/** Stops a server: others are notified, calls finish or are handed off, and then the connections are closed. */
import { assertOptionNames, type OptionNames, unref } from '../../protocol/index.ts'
import type { Assembly } from '../assemble.ts'
import type { Connections } from '../http/connections.ts'
import { DRAIN_MS, drainAll, type DrainableHost } from './drain.ts'

export interface DrainOptions {
  /** How long calls in flight may take to finish or hand over, in milliseconds. @default 25000 */
  deadlineMs?: number
  /** Lifetime of an idle connection, in milliseconds; more on a busy machine. @default 1000 */
  idleMs?: number
}

const DRAIN_OPTIONS: OptionNames<DrainOptions> = { deadlineMs: true, idleMs: true }

export function assertDrainOptions(options: DrainOptions): void {
  assertOptionNames(options, DRAIN_OPTIONS, 'drain')
}

export class Shutdown {
  /** The hosts whose calls must finish. */
  readonly hosts = new Set<DrainableHost>()
  readonly #assembly: Assembly
  readonly #level: 'info' | 'debug'
  #drained: Promise<void> | undefined
  /** Resolves when the other instances know that this one is being stopped. */
  #announced: Promise<void> | undefined
  /** Resolves when session-era calls that still wait for an answer are ended. */
  #patience: Promise<void> | undefined
  #options: Required<DrainOptions> = { deadlineMs: 0, idleMs: 0 }

  /** `level` is that of the two lines which a stop is in the log. */
  constructor(assembly: Assembly, level: 'info' | 'debug' = 'info') {
    this.#assembly = assembly
    this.#level = level
  }

  /** Adds a listener, which is closed by a drain. */
  addListener(connections: Pick<Connections, 'announceClose' | 'close'>): void {
    this.hosts.add({ drain: () => this.#closeListener(connections) })
  }

  /**
   * Ends subscriptions, lets calls in flight finish or hand over at their next checkpoint, and closes the listeners. Does
   * so once, however often it is called. `awaited`: clients may come back until this resolves.
   */
  drain({ deadlineMs = DRAIN_MS, idleMs = 1000 }: DrainOptions = {}, awaited?: Promise<void>): Promise<void> {
    this.#drained ??= this.#drain({ deadlineMs, idleMs: Math.min(idleMs, deadlineMs) }, awaited)
    return this.#drained
  }

  /**
   * Calls of sessions can be cancelled and answered only through the listener, so it stays open while there are any;
   * but not forever, because a balancer that does not notice the drain would keep sending calls.
   */
  async #closeListener(connections: Pick<Connections, 'announceClose' | 'close'>): Promise<void> {
    await this.#announced
    const { legacyHttp } = this.#assembly
    connections.announceClose()
    await Promise.race([legacyHttp.idle(), this.#patience])
    await legacyHttp.handOffUnseen() // while clients that come back for it are still sent here
    await connections.close(this.#options.idleMs)
  }

  async #drain(options: Required<DrainOptions>, awaited: Promise<void> | undefined): Promise<void> {
    const { load, subscriptions, getStreams, legacyHttp, cluster, scope, tasks, logger } = this.#assembly
    logger.current[this.#level]({ inFlight: load.inFlight }, 'Draining.')
    this.#options = options
    const { deadlineMs } = options
    const patience = new AbortController()
    this.#patience = new Promise((resolve) => unref(setTimeout(resolve, deadlineMs / 2)))
    void this.#patience.then(() => patience.abort())
    this.#announced = cluster.announceStop()
    const drained = drainAll(this.hosts, load, deadlineMs, awaited)
    subscriptions.close()
    getStreams.closeAll()
    await Promise.all([drained, legacyHttp.drain(patience.signal), tasks?.drain(deadlineMs)])
    await legacyHttp.handOffUnseen()
    await cluster.leave(scope)
    await tasks?.close()
    logger.current[this.#level]({ inFlight: load.inFlight }, 'Drained.')
  }
}
