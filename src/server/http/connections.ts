/**
 * The connections of an HTTP server, and how they are closed so that every request a client has sent is answered.
 *
 * - The listener closes with an empty accept queue (acceptQueue.ts).
 * - Answers say `connection: close`, so that a client which uses its connection sends the next request elsewhere.
 * - A connection that nobody uses is closed after a while. If it were closed with unread bytes, the client would get a
 *   reset, so what has come is read first.
 */
import type { Server as HttpServer, ServerResponse } from 'node:http'
import type { Socket } from 'node:net'
import { closeListener } from './acceptQueue.ts'

/** The response under way is in a member that Node does not document, and uses itself to find idle connections. */
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

  /** Whether answers say that they are the last ones on their connections. */
  get closing(): boolean {
    return this.#closing
  }

  /** Makes answers announce that they are the last on their connections, also for requests in flight. */
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
      // On a machine that is so busy clients are slow as well, so this time does not count.
      if (!isLate) this.#closeSilent(idleMs / SWEEP_MS, silences)
    }
    // Node reads what has come between timers and immediates.
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
