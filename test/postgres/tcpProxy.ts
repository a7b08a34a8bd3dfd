/** A TCP proxy in front of a server, which can close its connections or stop to forward on them, as a broken network does. */
import { once } from 'node:events'
import { connect, createServer, type Server, type Socket } from 'node:net'

export class TcpProxy {
  readonly port: number
  readonly #server: Server
  readonly #targetPort: number
  readonly #sockets = new Set<Socket>()
  #isOpen = true
  #isFrozen = false
  /** Connections that were taken while it was frozen. */
  readonly #unserved = new Set<Socket>()

  static async start(targetPort: number): Promise<TcpProxy> {
    const server = createServer().listen(0, '127.0.0.1')
    await once(server, 'listening')
    return new TcpProxy(server, targetPort)
  }

  private constructor(server: Server, targetPort: number) {
    const address = server.address()
    if (typeof address !== 'object' || address === null) throw new Error('The proxy has no port.')
    this.port = address.port
    this.#server = server
    this.#targetPort = targetPort
    server.on('connection', (socket) => this.#accept(socket))
  }

  /** Closes every connection, and each new one at once. */
  cut(): void {
    this.#isOpen = false
    this.#destroyAll()
  }

  /** Forwards nothing more on the connections that there are. New ones work. */
  silenceConnections(): void {
    for (const socket of this.#sockets) socket.pause()
  }

  /** The same, and new ones are taken and not served, as by a server that hangs. */
  freeze(): void {
    this.#isFrozen = true
    this.silenceConnections()
  }

  /** The end of that: what was sent meanwhile arrives. */
  thaw(): void {
    this.#isFrozen = false
    for (const client of this.#unserved) this.#serve(client)
    this.#unserved.clear()
    for (const socket of this.#sockets) socket.resume()
  }

  open(): void {
    this.#isOpen = true
  }

  async close(): Promise<void> {
    this.#destroyAll()
    this.#server.close()
    await once(this.#server, 'close')
  }

  #accept(client: Socket): void {
    this.#add(client)
    if (!this.#isOpen) return void client.destroy()
    if (!this.#isFrozen) return this.#serve(client)
    this.#unserved.add(client)
    client.once('close', () => this.#unserved.delete(client))
  }

  #serve(client: Socket): void {
    const target = connect(this.#targetPort, '127.0.0.1')
    this.#add(target)
    join(client, target)
    join(target, client)
  }

  #add(socket: Socket): void {
    this.#sockets.add(socket)
    socket.on('error', () => {})
    socket.once('close', () => this.#sockets.delete(socket))
  }

  #destroyAll(): void {
    for (const socket of this.#sockets) socket.destroy()
  }
}

function join(from: Socket, to: Socket): void {
  from.on('data', (data) => void to.write(data))
  from.once('close', () => to.destroy())
}
