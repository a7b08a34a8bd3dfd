/** Stops a server: others are notified, calls finish or are handed off, and then the connections are closed. */
import { assertOptionNames, type OptionNames, settledWithin, unref } from '../../protocol/index.ts'
import type { ServerParts } from '../assemble.ts'
import type { Connections } from '../http/connections.ts'
import type { Load } from './load.ts'

/** A host that can be drained: an HTTP server or a stdio connection. */
export interface DrainableHost {
  /** Accepts no new connections; resolves when all requests of the open ones are answered. */
  drain(): Promise<void>
}

/** The default time of a drain. */
export const DRAIN_MS = 25_000

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
  readonly #assembly: ServerParts
  readonly #level: 'info' | 'debug'
  #drained: Promise<void> | undefined
  /** Resolves when the other instances know that this one is being stopped. */
  #announced: Promise<void> | undefined
  /** Resolves when session-era calls that still wait for an answer are ended. */
  #patience: Promise<void> | undefined
  #options: Required<DrainOptions> = { deadlineMs: 0, idleMs: 0 }

  /** `level`: the log level of the lines at the beginning and the end of the drain. */
  constructor(assembly: ServerParts, level: 'info' | 'debug' = 'info') {
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
    await Promise.race([legacyHttp?.idle(), this.#patience])
    await legacyHttp?.handOffUnseen() // while clients that come back for it are still sent here
    await connections.close(this.#options.idleMs)
  }

  async #drain(options: Required<DrainOptions>, awaited: Promise<void> | undefined): Promise<void> {
    const { load, subscriptions, sessions, legacyHttp, clusterPart, tasks, logger } = this.#assembly
    logger.current[this.#level]({ inFlight: load.inFlight }, 'Draining.')
    this.#options = options
    const { deadlineMs } = options
    const patience = new AbortController()
    this.#patience = new Promise((resolve) => unref(setTimeout(resolve, deadlineMs / 2)))
    void this.#patience.then(() => patience.abort())
    this.#announced = clusterPart?.cluster.announceStop()
    const drained = drainAll(this.hosts, load, deadlineMs, awaited)
    subscriptions.close()
    sessions?.getStreams.closeAll()
    await Promise.all([drained, sessions?.pushes.drain(patience.signal), tasks?.drain(deadlineMs)])
    await legacyHttp?.handOffUnseen()
    await clusterPart?.cluster.leave(clusterPart.scope)
    await tasks?.close()
    logger.current[this.#level]({ inFlight: load.inFlight }, 'Drained.')
  }
}

/** Maximum time after the last call to send answers and close idle connections, in milliseconds. */
const LEAVING_MS = 5000
/** The same when the deadline has passed. */
const LATE_LEAVING_MS = 1000

/**
 * Waits until calls in flight finish or hand over and their answers are sent, at most until the deadline. `awaited`: until
 * this resolves, clients may come back for calls that wait for them, which are not in flight meanwhile.
 */
export async function drainAll(
  hosts: Iterable<DrainableHost>,
  load: Load,
  deadlineMs: number,
  awaited?: Promise<void>,
): Promise<void> {
  const deadline = performance.now() + deadlineMs
  const left = (): number => Math.max(0, deadline - performance.now())
  let idle = load.drain(deadlineMs)
  const drained = Promise.all(Array.from(hosts, (host) => host.drain()))
  await settledWithin(awaited, deadlineMs)
  do {
    await idle
    const leavingMs = Math.min(LEAVING_MS, Math.max(LATE_LEAVING_MS, left()))
    await Promise.race([drained, new Promise((resolve) => unref(setTimeout(resolve, leavingMs)))])
    // A connection that was still open may have brought another call.
    idle = load.drain(left())
  } while (load.inFlight > 0 && left() > 0)
}
