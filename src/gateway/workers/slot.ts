/** One worker of a gateway: its current process, and the next one after that has ended. */
import cluster, { type Worker } from 'node:cluster'
import { isObject, sleep } from '../../protocol/index.ts'
import { IpcChannel, type PrimaryMethods, ProcessGoneError, type WorkerMethods, type WorkerStart } from './channel.ts'
import { inTime } from '../waiting.ts'
import type { WorkersState } from './sharedState.ts'

type WorkerChannel = IpcChannel<PrimaryMethods, WorkerMethods>

export interface SlotOptions {
  readonly worker: number
  readonly env: Readonly<Record<string, string>>
  readonly shared: WorkersState
  readonly onWarning: (sentence: string) => void
  /** Called when its process has ended; `how` is the signal or the exit code. */
  readonly onEnd: (slot: WorkerSlot, how: string) => void
}

export interface RestartOptions {
  /** Starts a process, and lets it serve clients. */
  readonly serve: () => Promise<void>
  readonly onNews: (sentence: string) => void
  /** Aborts when the gateway is stopped. */
  readonly signal: AbortSignal
}

const RESTART = { firstMs: 100, maxMs: 30_000 }
/** Lifetime after which the end of a process is not attributed to its start. */
const STEADY_MS = 60_000

/**
 * `before`: the pause before the process that has ended, or 0 for the first one. `livedMs`: the lifetime of that
 * process.
 */
export function restartPauseMs(before: number, livedMs: number): number {
  return before === 0 || livedMs >= STEADY_MS ? RESTART.firstMs : Math.min(2 * before, RESTART.maxMs)
}

/** Timeout of a ping: a busy process answers within this time, a frozen one does not. */
const SILENT_MS = 5000
const PING_EVERY_MS = 1000

export class WorkerSlot {
  readonly worker: number
  readonly #options: SlotOptions
  #process: Worker | undefined
  #channel: WorkerChannel | undefined
  #ended: Promise<void> = Promise.resolve()
  /** Its last port. The next process uses it again, so that callers keep their worker. */
  #port: number | undefined
  /** The address at which other workers reach it; undefined while it starts. */
  url: string | undefined
  isServing = false
  /** When its process was started, in milliseconds of `performance`. */
  #startedAt = 0
  /** The pause before that start. */
  #pauseMs = 0

  constructor(options: SlotOptions) {
    this.worker = options.worker
    this.#options = options
  }

  get pid(): number | undefined {
    return this.#process?.process.pid
  }

  /** Starts a process, which connects to the servers but serves no client yet. */
  async start(start: WorkerStart): Promise<void> {
    const own = { ...start.own, port: this.#port ?? start.own.port }
    this.#port = undefined // dropped if the process cannot listen there
    this.url = await this.#fork().ask('start', { ...start, own })
    this.#port = Number(new URL(this.url).port)
  }

  /** Replaces a process that has ended: at once, or with backoff if processes keep ending soon. */
  async restart({ serve, onNews, signal }: RestartOptions): Promise<void> {
    this.#pauseMs = restartPauseMs(this.#pauseMs, performance.now() - this.#startedAt)
    await sleep(this.#pauseMs, signal).catch(() => {})
    if (signal.aborted) return
    try {
      await serve()
    } catch (error) {
      if (signal.aborted) return
      onNews(`Worker ${this.worker} did not start: ${error instanceof Error ? error.message : ''}`)
      this.kill() // its end starts the next one
    }
  }

  /** Calls a method of its process; rejects if there is none. */
  ask: WorkerChannel['ask'] = (name, params) =>
    this.#channel?.ask(name, params) ?? Promise.reject(new ProcessGoneError())

  /** Resolves with the work of its process while that answers pings. Rejects if it is frozen. */
  whileAwake<T>(work: Promise<T>): Promise<T> {
    const over = new AbortController()
    return Promise.race([work, this.#silence(over.signal)]).finally(() => over.abort())
  }

  async #silence(until: AbortSignal): Promise<never> {
    for (;;) {
      await withTimeout(this.ask('ping', {}), SILENT_MS)
      await sleep(PING_EVERY_MS, until)
    }
  }

  /** Resolves when its process has ended. */
  get ended(): Promise<void> {
    return this.#ended
  }

  kill(): void {
    this.#process?.process.kill('SIGKILL')
  }

  #fork(): WorkerChannel {
    const { env, shared, onWarning, onEnd } = this.#options
    const { methods, endAll } = shared.forProcess()
    const child = cluster.fork({ ...env, PANNIER_ADVERTISE: '' }) // a worker has its own address
    closeUnaccepted(child)
    const channel: WorkerChannel = new IpcChannel(child, {
      ...methods,
      warn: ({ sentence }) => onWarning(sentence),
    })
    const ended = Promise.withResolvers<void>()
    this.#process = child
    this.#channel = channel
    this.#ended = ended.promise
    this.#startedAt = performance.now()
    child.once('exit', (code, signal) => {
      channel.close()
      endAll()
      this.#channel = undefined
      this.url = undefined
      this.isServing = false
      ended.resolve()
      onEnd(this, signal ?? `exit code ${code}`)
    })
    return channel
  }
}

/** A worker has not answered in time. */
export class SilentWorkerError extends Error {
  constructor() {
    super('The worker does not answer.')
  }
}

/** Rejects if a worker takes longer. */
export function withTimeout<T>(work: Promise<T>, withinMs: number): Promise<T> {
  return inTime(work, withinMs, () => new SilentWorkerError())
}

interface Closable {
  close(): void
}

/**
 * Closes connections that were handed to a worker which ended before it accepted them. `node:cluster` leaves them open
 * without a reader, and their clients would wait without end.
 *
 * The handover is internal to `node:cluster`: a message with a number, and a reply with the same number. If a version
 * of Node changes that, nothing is closed here.
 */
function closeUnaccepted({ process: child }: Worker): void {
  const unaccepted = new Map<unknown, Closable>()
  const send = child.send.bind(child) as (...args: readonly unknown[]) => boolean
  child.send = (...args: readonly unknown[]): boolean => {
    const [message, handle] = args
    if (isOfCluster(message) && message['act'] === 'newconn' && isClosable(handle))
      unaccepted.set(message['seq'], handle)
    return send(...args)
  }
  child.on('internalMessage', (message: unknown) => {
    if (isOfCluster(message)) unaccepted.delete(message['ack'])
  })
  // The event `disconnect` does not come while a handle is in transit.
  child.once('exit', () => {
    for (const handle of unaccepted.values()) handle.close()
    unaccepted.clear()
  })
}

function isOfCluster(message: unknown): message is Record<string, unknown> {
  return isObject(message) && message['cmd'] === 'NODE_CLUSTER'
}

function isClosable(handle: unknown): handle is Closable {
  return isObject(handle) && typeof handle['close'] === 'function'
}
