import { connect, type Socket } from 'node:net'
import { type RawResponse, ResponseReader } from './responseReader.ts'
import { type Limit, type Outcome, type Session, Tally, withinTime } from './load.ts'
import { type Script, WrongResponse } from './script.ts'

export interface HttpLoad {
  port: number
  connections: number
  /** The script of the n-th connection. */
  script: (index: number) => Script
}

/**
 * Keeps one request in flight on each connection. It uses raw sockets and prebuilt requests, because an HTTP client
 * costs as much CPU time as the server. Use a session at once: servers close idle connections after seconds.
 */
export async function openHttpLoad(load: HttpLoad): Promise<Session> {
  const opening = Array.from({ length: load.connections }, (_, index) => open(load.port, load.script(index)))
  const connections = await Promise.all(opening)
  return {
    async run(limit: Limit): Promise<Outcome> {
      const tally = new Tally(limit)
      await withinTime(limit, Promise.all(connections.map((connection) => connection.run(tally))))
      return tally.outcome()
    },
    close() {
      for (const connection of connections) connection.close()
    },
  }
}

function open(port: number, script: Script): Promise<Connection> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true })
    socket.once('error', reject)
    socket.once('connect', () => {
      socket.off('error', reject)
      resolve(new Connection(socket, script))
    })
  })
}

/** One connection: it sends the requests of its script and checks the responses. */
class Connection {
  #socket: Socket
  #script: Script
  #reader = new ResponseReader()
  #tally: Tally | undefined
  #finish: () => void = () => {}
  #fail: (error: Error) => void = () => {}

  constructor(socket: Socket, script: Script) {
    this.#socket = socket
    this.#script = script
    socket.on('error', (error) => this.#fail(error))
    socket.on('close', () => this.#fail(new Error('The server closed a connection under load.')))
    socket.on('data', (chunk) => this.#receive(chunk))
  }

  /** Sends until the tally's limit is reached and the last unit of work is complete. */
  run(tally: Tally): Promise<void> {
    this.#tally = tally
    return new Promise((resolve, reject) => {
      this.#finish = resolve
      this.#fail = reject
      this.#socket.write(this.#script.next())
    })
  }

  close(): void {
    this.#fail = () => {}
    this.#socket.destroy()
  }

  #receive(chunk: Buffer): void {
    try {
      const response = this.#reader.push(chunk)
      if (response === undefined) return
      const complete = this.#take(response)
      if (complete && this.#tally?.running !== true) this.#finish()
      else this.#socket.write(this.#script.next())
    } catch (error) {
      this.#fail(error instanceof Error ? error : new Error(String(error)))
    }
  }

  #take(response: RawResponse): boolean {
    try {
      const complete = this.#script.take(response)
      if (complete) this.#tally?.countRight()
      return complete
    } catch (error) {
      if (!(error instanceof WrongResponse)) throw error
      this.#tally?.countWrong(error.message)
      this.#script.reset()
      return true
    }
  }
}
