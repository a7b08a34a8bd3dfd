/** A client of the session era by hand, so that a test can leave a stream and come back elsewhere. */
interface Message {
  readonly id?: string | number
  readonly state?: unknown
  readonly result: Record<string, unknown>
  readonly [member: string]: unknown
}

interface Event {
  readonly id: string
  readonly message: Message
}

const VERSION = '2025-11-25'

export class Session {
  readonly #url: string
  readonly #id: string
  #next = 2

  private constructor(url: string, id: string) {
    this.#url = url
    this.#id = id
  }

  static async begin(url: string, capabilities: object): Promise<Session> {
    const params = { protocolVersion: VERSION, capabilities, clientInfo: { name: 'docs', version: '1.0.0' } }
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', accept: 'application/json, text/event-stream' },
      body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'initialize', params }),
    })
    await response.text()
    return new Session(url, response.headers.get('mcp-session-id') ?? '')
  }

  /** The same session at another instance. */
  at(url: string): Session {
    return new Session(url, this.#id)
  }

  async request(method: string, params: object): Promise<Message> {
    const response = await this.#post({ jsonrpc: '2.0', id: this.#next++, method, params })
    return (await response.json()) as Message
  }

  async stream(method: string, params: object): Promise<Events> {
    return new Events(await this.#post({ jsonrpc: '2.0', id: this.#next++, method, params }))
  }

  async resume(lastEventId: string): Promise<Events> {
    const headers = { ...this.#headers(), accept: 'text/event-stream', 'last-event-id': lastEventId }
    return new Events(await fetch(this.#url, { headers }))
  }

  /** Answers a pushed question, and echoes its state where it has one. */
  async answer({ id, state }: Message, result: object): Promise<void> {
    const response = await this.#post({ jsonrpc: '2.0', id, result, ...(state !== undefined && { state }) })
    if (response.status !== 202) throw new Error(`The answer was refused with ${response.status}.`)
  }

  #post(message: object): Promise<Response> {
    return fetch(this.#url, { method: 'POST', headers: this.#headers(), body: JSON.stringify(message) })
  }

  #headers(): Record<string, string> {
    return {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-session-id': this.#id,
      'mcp-protocol-version': VERSION,
    }
  }
}

class Events {
  readonly #reader: ReadableStreamDefaultReader<Uint8Array>
  readonly #decoder = new TextDecoder()
  #text = ''
  #lastId = ''

  constructor({ body }: Response) {
    if (body === null) throw new Error('The response has no stream.')
    this.#reader = body.getReader()
  }

  /** The next event with data. */
  async next(): Promise<Event> {
    for (;;) {
      const event = await this.#event()
      if (event === undefined) throw new Error('The stream has ended.')
      if (event.data !== '') return { id: this.#lastId, message: JSON.parse(event.data) as Message }
    }
  }

  /** Reads on until the server lets the connection go; gives the last event id. */
  async ended(): Promise<string> {
    while ((await this.#event()) !== undefined);
    return this.#lastId
  }

  leave(): Promise<void> {
    return this.#reader.cancel()
  }

  async #event(): Promise<{ data: string } | undefined> {
    for (let end = this.#text.indexOf('\n\n'); end < 0; end = this.#text.indexOf('\n\n')) {
      const { value, done } = await this.#reader.read()
      if (done) return undefined
      this.#text += this.#decoder.decode(value, { stream: true })
    }
    const [block = ''] = this.#text.split('\n\n', 1)
    this.#text = this.#text.slice(block.length + 2)
    this.#lastId = /^id: (.*)$/m.exec(block)?.[1] ?? this.#lastId
    return { data: /^data: (.+)$/m.exec(block)?.[1] ?? '' }
  }
}
