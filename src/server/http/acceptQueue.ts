/**
 * Closes a listener while no client is in its accept queue. The kernel completes handshakes and queues the connections for the
 * process. It resets those that are queued when the listener closes, although their clients may have sent a request.
 *
 * A second listener on the same handle accepts in place of the server, and holds the connections until the close. An empty
 * queue can fill at any moment, so it is shortened and filled with connections of this process to itself: Linux ignores
 * handshakes of clients while the queue is full, and they retry, with a successor or to be refused. Once exactly the first own
 * connection was accepted, the queue holds the other own ones and no client.
 */
import { type AddressInfo, connect, Server as NetServer, type Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'

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

/** Closes the listener, and none of the accepted connections. */
export async function closeListener(server: NetServer): Promise<void> {
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

/** Fills the queue with own connections. Where a client was first, gives false and restores the length of the queue. */
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
