/**
 * The connections of an HTTP server, and how they are closed so that every request a client has sent is answered.
 *
 * - The listener closes with an empty accept queue (acceptQueue.ts).
 * - Responses carry `connection: close`, so that clients send the next request on another connection.
 * - Idle connections are closed after a while. Closing one with unread bytes would reset it, so received bytes are read
 *   first.
 */
import type { Server as HttpServer, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { closeListener } from './acceptQueue.ts'

/** `_httpMessage` is the current response. Node does not document it, and finds idle connections by it. */
type HttpSocket = Socket & { readonly _httpMessage?: ServerResponse | null }

/** The bytes of a connection at the last sweep, and the number of sweeps without a change. */
interface Silence {
  bytesRead: number
  sweeps: number
}

const SWEEP_MS = 50
/** Number of silent sweeps after which a connection without a complete request is closed. */
const SILENT_SWEEPS = 20

export class Connections {
  readonly #server: HttpServer
  readonly #open = new Set<HttpSocket>()
  #closing = false
  #onEmpty: () => void = () => {}

  constructor(server: HttpServer) {
    this.#server = server
    server.on('connection', (socket: HttpSocket) => {
      this.#open.add(socket)
      socket.once('close', () => {
        this.#open.delete(socket)
        if (this.#open.size === 0) this.#onEmpty()
      })
    })
  }

  /** Whether responses carry `connection: close`. */
  get closing(): boolean {
    return this.#closing
  }

  /** Adds `connection: close` to all responses from now on, also of requests in flight. */
  announceClose(): void {
    this.#closing = true
    for (const { _httpMessage: response } of this.#open) {
      if (response && !response.headersSent) response.setHeader('connection', 'close')
    }
  }

  /** Closes the listener, and connections idle for `idleMs`; resolves when the last one is closed. */
  async close(idleMs: number): Promise<void> {
    if (!this.#server.listening) return
    this.announceClose()
    await closeListener(this.#server)
    const silences = new WeakMap<HttpSocket, Silence>()
    let sweptAt = performance.now()
    const sweep = (): void => {
      const isLate = performance.now() - sweptAt > 2 * SWEEP_MS
      sweptAt = performance.now()
      // A late sweep means a busy machine, on which clients are slow as well: it does not count.
      if (!isLate) this.#closeSilent(idleMs / SWEEP_MS, silences)
    }
    // Node reads from sockets between timers and immediates.
    setImmediate(sweep)
    const timer = setInterval(() => setImmediate(sweep), SWEEP_MS)
    await new Promise<void>((resolve) => {
      this.#onEmpty = resolve
      if (this.#open.size === 0) resolve()
    })
    clearInterval(timer)
  }

  #closeSilent(idleSweeps: number, silences: WeakMap<HttpSocket, Silence>): void {
    for (const socket of this.#open) {
      const { bytesRead } = socket
      const silence = silences.get(socket) ?? { bytesRead, sweeps: -1 }
      const isUsed = socket._httpMessage || socket.writableLength > 0 || silence.bytesRead !== bytesRead
      silence.sweeps = isUsed ? 0 : silence.sweeps + 1
      silence.bytesRead = bytesRead
      silences.set(socket, silence)
      if (!isUsed && silence.sweeps >= (bytesRead === 0 ? SILENT_SWEEPS : idleSweeps)) socket.destroy()
    }
  }
}
