/** A client on a pair of byte streams, message by message. */
import type { Readable, Writable } from 'node:stream'
import type { Incoming } from './messageStream.ts'

export class RawStdio {
  readonly #input: Writable
  readonly #chunks: AsyncIterator<unknown>
  readonly #unread: Incoming[] = []
  #text = ''

  /** `input` and `output` are the server's. */
  constructor(input: Writable, output: Readable) {
    this.#input = input
    this.#chunks = output.setEncoding('utf8').iterator()
  }

  send(message: object): void {
    this.#input.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
  }

  async next(): Promise<Incoming> {
    for (;;) {
      const message = this.#unread.shift()
      if (message !== undefined) return message
      const { value, done } = await this.#chunks.next()
      if (done === true) throw new Error('The server has ended its output.')
      const lines = `${this.#text}${String(value)}`.split('\n')
      this.#text = lines.pop() ?? ''
      this.#unread.push(...lines.map((line) => JSON.parse(line) as Incoming))
    }
  }

  /** Begins a session; gives the answer. */
  initialize(capabilities: object = {}): Promise<Incoming> {
    this.send({ id: 'init', method: 'initialize', params: { protocolVersion: '2025-11-25', capabilities } })
    return this.next()
  }
}
