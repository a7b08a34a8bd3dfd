/** How a server is stopped: others are told, calls finish or are handed over, and then the connections are closed. */
import { assertOptionNames, type OptionNames, unref } from '../../protocol/index.ts'
import type { Assembly } from '../assemble.ts'
import type { Connections } from '../http/connections.ts'
import { drainAll, type DrainableHost } from './drain.ts'

export interface DrainOptions {
  /** How long calls in flight may take to finish or hand over, in milliseconds. @default 25000 */
  deadlineMs?: number
  /** How long a connection is kept that no client uses, in milliseconds; more on a busy machine. @default 1000 */
  idleMs?: number
}

/** How long calls have to finish, where nothing else is said. */
export const DRAIN_MS = 25_000

const DRAIN_OPTIONS: OptionNames<DrainOptions> = { deadlineMs: true, idleMs: true }

export function assertDrainOptions(options: DrainOptions): void {
  assertOptionNames(options, DRAIN_OPTIONS, 'drain')
}

export class Shutdown {
  /** What serves the calls that have to finish. */
  readonly hosts = new Set<DrainableHost>()
  readonly #assembly: Assembly
  readonly #level: 'info' | 'debug'
  #drained: Promise<void> | undefined
  /** Resolves when the other instances know that this one is being stopped. */
  #announced: Promise<void> | undefined
  /** Resolves when session-era calls that still wait for an answer are given up. */
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
   * Calls of sessions can be cancelled and answered only by way of the listener, so it stays while there are any; but not
   * for ever, because a balancer that knows nothing of the drain would go on sending calls.
   */
  async #closeListener(connections: Pick<Connections, 'announceClose' | 'close'>): Promise<void> {
    await this.#announced
    const { legacyHttp } = this.#assembly
    connections.announceClose()
    await Promise.race([legacyHttp.idle(), this.#patience])
    await legacyHttp.handOverUnseen() // while clients that come back for it are still sent here
    await connections.close(this.#options.idleMs)
  }

  async #drain(options: Required<DrainOptions>, awaited: Promise<void> | undefined): Promise<void> {
    const { load, subscriptions, getStreams, legacyHttp, replicas, tasks, logger } = this.#assembly
    const over = new AbortController()
    logger.current[this.#level]({ inFlight: load.inFlight }, 'Draining.')
    this.#options = options
    const { deadlineMs } = options
    const patience = new AbortController()
    this.#patience = new Promise((resolve) => unref(setTimeout(resolve, deadlineMs / 2)))
    void this.#patience.then(() => patience.abort())
    this.#announced = replicas.sayStopping()
    const drained = drainAll(this.hosts, load, deadlineMs, awaited)
    subscriptions.close()
    getStreams.closeAll()
    const fetched = replicas.fetchCancellations(over.signal)
    await Promise.all([drained, legacyHttp.drain(patience.signal), tasks?.drain(deadlineMs)])
    over.abort()
    await legacyHttp.handOverUnseen()
    await fetched // what arrives after the goodbye would make this instance look as if it were still there
    await replicas.leave()
    await tasks?.close()
    logger.current[this.#level]({ inFlight: load.inFlight }, 'Drained.')
  }
}
