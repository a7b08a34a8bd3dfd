/**
 * Closing a listener when nobody waits to be accepted. The system completes a connection by itself and puts it in the
 * listener's queue; the process accepts it later. Whatever is in the queue when the listener closes is reset, although
 * its client is connected and has perhaps sent a request.
 *
 * A turn of the event loop accepts one connection. So that turns are short, what is accepted is held, and served when the
 * listener is closed. After a turn that accepted none the queue was empty, but the next moment it may not be. Therefore
 * it is made short and filled with connections of the process to itself. As long as it is full, Linux does not answer
 * who wants to connect; such a client tries again after a second, and is refused or reaches a successor. When the first
 * of the own connections was accepted and the others were not, the queue holds these alone, and the listener is closed.
 */
import { type AddressInfo, connect, Server as NetServer, type Socket } from 'node:net'
import { setImmediate as nextTurn } from 'node:timers/promises'

/** The part of a listener that Node does not document: `listen` again changes the length of the queue. */
interface Listener extends NetServer {
  readonly _handle?: { listen(backlog: number): number } | null
}

/** The queue takes one connection more than these say. */
const BACKLOG = { usual: 511, forOwn: 2, whileOneIsAccepted: 1 } as const
const OWN = 3

/** When more connections come than can be accepted, the listener is closed after this time. */
const PATIENCE_MS = 5000
/** A process that cannot connect to itself closes its listener after so many turns in which nobody else came. */
const MAX_QUIET_TURNS = 20

/**
 * Elsewhere queues differ; and in a worker of `node:cluster` the listener is the primary's, and stays open. Not every
 * runtime has that module, so it is not imported.
 */
const cluster = process.getBuiltinModule('node:cluster') as { readonly isPrimary?: boolean } | undefined
const canFill = process.platform === 'linux' && cluster?.isPrimary === true

/** Closes the listener, not the connections that were accepted. `onClosed` is called when those are closed, too. */
export async function closeListener(server: NetServer, onClosed: () => void): Promise<void> {
  const until = performance.now() + PATIENCE_MS
  const held = holdConnections(server)
  const close = (): void => {
    // Not the close of `node:http`, which closes idle connections although they may have been used.
    NetServer.prototype.close.call(server, onClosed)
  }
  for (let quietTurns = 0; server.listening; ) {
    const before = held.sockets.length
    await nextTurn()
    if (held.sockets.length === before) quietTurns++
    if (performance.now() > until || quietTurns === MAX_QUIET_TURNS || (quietTurns > 0 && !canFill)) close()
    else if (held.sockets.length === before) await closeIfNobodyWaits(server, held.sockets, close)
  }
  held.release()
}

interface Held {
  readonly sockets: Socket[]
  release(): void
}

/** Keeps connections from the server until they are released. */
function holdConnections(server: NetServer): Held {
  const sockets: Socket[] = []
  const hold = (socket: Socket): void => void sockets.push(socket.on('error', () => {}))
  const listeners = server.rawListeners('connection') as ((socket: Socket) => void)[]
  server.removeAllListeners('connection').on('connection', hold)
  const release = (): void => {
    server.off('connection', hold)
    for (const listener of listeners) server.on('connection', listener)
    for (const socket of sockets) {
      if (socket.readableEnded)
        socket.destroy() // the client has left
      else if (!socket.destroyed) server.emit('connection', socket)
    }
  }
  return { sockets, release }
}

async function closeIfNobodyWaits(server: Listener, accepted: readonly Socket[], close: () => void): Promise<void> {
  const { address, port } = server.address() as AddressInfo
  const before = accepted.length
  server._handle?.listen(BACKLOG.forOwn)
  const own = Array.from({ length: OWN }, () => connect(port, reachable(address)).on('error', () => {}))
  // Node connects in this tick. From then on the queue is full also when one of these was accepted.
  process.nextTick(() => server._handle?.listen(BACKLOG.whileOneIsAccepted))
  await nextTurn()
  const [first, second] = accepted.slice(before)
  const isFirst = first !== undefined && second === undefined && first.remotePort === own[0]?.localPort
  if (isFirst && own.every((socket) => !socket.connecting)) close()
  else server._handle?.listen(BACKLOG.usual)
  for (const socket of own) socket.destroy()
}

/** An address at which this process reaches what listens at that one. */
function reachable(address: string): string {
  if (address === '::') return '::1'
  return address === '0.0.0.0' ? '127.0.0.1' : address
}
