/**
 * The connections of an HTTP server, and how they are closed so that every request a client has sent is answered.
 *
 * - The listener closes while no client is in its accept queue (`closeListener`).
 * - Responses carry `connection: close`, so that clients send the next request on another connection.
 * - Idle connections are closed after a while. Closing one with unread bytes would reset it, so received bytes are read
 *   first.
 */
import { Server as HttpServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect, Server as NetServer, type Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'

/** `_httpMessage` is the current response. Node does not document it, and finds idle connections by it. */
type HttpSocket = Socket & { readonly _httpMessage?: ServerResponse | null }

/** The bytes of a connection at the last sweep, and the number of sweeps without a change. */
interface Silence {
  bytesRead: number
  sweeps: number
}

const SWEEP_MS = 50
/** Minimum number of silent sweeps before a connection that has sent nothing is closed: its client has just connected. */
const NEW_SWEEPS = 20

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
      const allowed = bytesRead === 0 ? Math.max(idleSweeps, NEW_SWEEPS) : idleSweeps
      if (!isUsed && silence.sweeps >= allowed) socket.destroy()
    }
  }
}

/** The length of the queue. Linux queues one connection more. */
const BACKLOG = { usual: 511, forOwn: 2, whileOneIsAccepted: 1 } as const
const OWN = 3
/** The listener closes after this time in any case. */
const PATIENCE_MS = 5000

/**
 * Only Linux has such queues. In a worker of `node:cluster` the listener is the primary's, and stays open. Not every runtime
 * has that module, so it is not imported.
 */
const cluster = process.getBuiltinModule('node:cluster') as { readonly isPrimary?: boolean } | undefined
const canFill = process.platform === 'linux' && cluster?.isPrimary === true

/** False in Bun, whose HTTP servers have no `net.Server` inside. Their close leaves idle connections open. */
const isBuiltOnNet = HttpServer.prototype instanceof NetServer

/**
 * Closes a listener while no client is in its accept queue, and none of the accepted connections. The kernel completes handshakes
 * and queues the connections for the process. It resets those that are queued when the listener closes, although their
 * clients may have sent a request.
 *
 * A second listener on the same handle accepts in place of the server, and holds the connections until the close. An empty
 * queue can fill at any moment, so it is shortened and filled with connections of this process to itself: Linux ignores
 * handshakes of clients while the queue is full, and they retry, with a successor or to be refused. Once exactly the first own
 * connection was accepted, the queue holds the other own ones and no client.
 */
async function closeListener(server: HttpServer): Promise<void> {
  if (!isBuiltOnNet) return void server.close()
  const held: Socket[] = []
  if (canFill) await emptyQueue(server, held)
  else await nextTurn()
  // The close of `node:http` would also close idle connections, on which a request may be on its way.
  NetServer.prototype.close.call(server)
  for (const socket of held) {
    if (socket.readableEnded)
      socket.destroy() // the client has left
    else if (!socket.destroyed) server.emit('connection', socket)
  }
}

async function emptyQueue(server: NetServer, held: Socket[]): Promise<void> {
  const until = performance.now() + PATIENCE_MS
  const accept = (backlog: number): void => {
    if (!server.listening) return // it was closed meanwhile
    const hold = (socket: Socket): void => void held.push(socket.on('error', () => {}))
    new NetServer({ allowHalfOpen: true, noDelay: true }, hold).listen(server, backlog)
  }
  accept(BACKLOG.usual)
  while (server.listening && performance.now() < until) {
    const before = held.length
    await nextTurn()
    if (held.length === before && (await isFilled(server, held, accept))) return
  }
}

/** Fills the queue with own connections. If a client was faster, returns false and restores the length of the queue. */
async function isFilled(
  server: NetServer,
  held: readonly Socket[],
  accept: (backlog: number) => void,
): Promise<boolean> {
  const { address, port } = server.address() as AddressInfo
  const before = held.length
  accept(BACKLOG.forOwn)
  const own = Array.from({ length: OWN }, () => connect(port, reachable(address)).on('error', () => {}))
  // Node connects in this tick. The shorter queue is still full after one own connection was accepted.
  process.nextTick(accept, BACKLOG.whileOneIsAccepted)
  await nextTurn()
  const [first, second] = held.slice(before)
  const isFirst = first !== undefined && second === undefined && first.remotePort === own[0]?.localPort
  const isFull = isFirst && own.every((socket) => !socket.connecting)
  if (!isFull) accept(BACKLOG.usual)
  for (const socket of own) socket.destroy()
  return isFull
}

/** The address at which this process reaches a listener at `address`. */
function reachable(address: string): string {
  if (address === '::') return '::1'
  return address === '0.0.0.0' ? '127.0.0.1' : address
}
