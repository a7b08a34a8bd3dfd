/**
 * Closing a listener with an empty accept queue. The system completes connections by itself and queues them for the process;
 * it resets those that are in the queue when the listener closes, although their clients may have sent a request.
 *
 * Another listener at the same handle accepts in place of the server, and holds the connections until the close. An empty
 * queue can fill in the next moment. So the queue is made short and filled with connections of this process to itself: Linux does
 * not answer clients while it is full, and they connect again, to a successor or to be refused. When the first of the own connections
 * alone was accepted, the queue holds the others and no client.
 */
import { type AddressInfo, connect, Server as NetServer, type Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'

/** The length of the queue; it takes one connection more. */
const BACKLOG = { usual: 511, forOwn: 2, whileOneIsAccepted: 1 } as const
const OWN = 3
/** The listener closes after this time in any case. */
const PATIENCE_MS = 5000

/**
 * Elsewhere queues differ; and in a worker of `node:cluster` the listener is the primary's, and stays open. Not every
 * runtime has that module, so it is not imported.
 */
const cluster = process.getBuiltinModule('node:cluster') as { readonly isPrimary?: boolean } | undefined
const canFill = process.platform === 'linux' && cluster?.isPrimary === true

/** Closes the listener, not the connections that were accepted. */
export async function closeListener(server: NetServer): Promise<void> {
  const held: Socket[] = []
  if (canFill) await emptyQueue(server, held)
  else await nextTurn()
  // Not the close of `node:http`, which closes idle connections although they may have been used.
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
    if (!server.listening) return // something else has closed it meanwhile
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

/** Fills the queue with own connections. False where a client was there first; the queue is as long as before then. */
async function isFilled(
  server: NetServer,
  held: readonly Socket[],
  accept: (backlog: number) => void,
): Promise<boolean> {
  const { address, port } = server.address() as AddressInfo
  const before = held.length
  accept(BACKLOG.forOwn)
  const own = Array.from({ length: OWN }, () => connect(port, reachable(address)).on('error', () => {}))
  // Node connects in this tick. From then on the queue is full also when one of these was accepted.
  process.nextTick(accept, BACKLOG.whileOneIsAccepted)
  await nextTurn()
  const [first, second] = held.slice(before)
  const isFirst = first !== undefined && second === undefined && first.remotePort === own[0]?.localPort
  const isFull = isFirst && own.every((socket) => !socket.connecting)
  if (!isFull) accept(BACKLOG.usual)
  for (const socket of own) socket.destroy()
  return isFull
}

/** An address at which this process reaches what listens at that one. */
function reachable(address: string): string {
  if (address === '::') return '::1'
  return address === '0.0.0.0' ? '127.0.0.1' : address
}
