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
 * Keeps one request under way on each connection. Raw sockets and prebuilt requests, because a full HTTP client costs
 * as much as the server it measures. A server closes idle connections after seconds: a session is for use at once.
 */
export async function openHttpLoad(load: HttpLoad): Promise<Session> {
  const opening = Array.from({ length: load.connections }, (_, index) => open(load.port, load.script(index)))
  const speakers = await Promise.all(opening)
  return {
    async run(limit: Limit): Promise<Outcome> {
      const tally = new Tally(limit)
      await withinTime(limit, Promise.all(speakers.map((speaker) => speaker.run(tally))))
      return tally.outcome()
    },
    close() {
      for (const speaker of speakers) speaker.close()
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

/** One connection: it says what its script says and checks what it hears. */
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
    socket.on('data', (chunk) => this.#hear(chunk))
  }

  /** Talks until the tally is done and the last unit of work complete. */
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

  #hear(chunk: Buffer): void {
    try {
      const answer = this.#reader.push(chunk)
      if (answer === undefined) return
      const complete = this.#take(answer)
      if (complete && this.#tally?.running !== true) this.#finish()
      else this.#socket.write(this.#script.next())
    } catch (error) {
      this.#fail(error instanceof Error ? error : new Error(String(error)))
    }
  }

  #take(answer: RawResponse): boolean {
    try {
      const complete = this.#script.take(answer)
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
