/** A session-era client, message by message, for what the SDK's clients cannot be made to do. */
import { type Incoming, MessageStream } from './messageStream.ts'

export interface RawSessionOptions {
  readonly version?: string
  readonly capabilities?: object
  /** Sent with everything: who it is, for one. */
  readonly headers?: Readonly<Record<string, string>>
}

export class RawSession {
  readonly id: string
  readonly version: string
  readonly initialized: Incoming
  /** Where the next message goes; a test may send each to another instance. */
  url: string
  readonly #more: Readonly<Record<string, string>>
  #nextId = 1

  constructor(url: string, id: string, initialized: Incoming, version: string, more = {}) {
    this.url = url
    this.id = id
    this.initialized = initialized
    this.version = version
    this.#more = more
  }

  static async begin(url: string, options: RawSessionOptions = {}): Promise<RawSession> {
    const { version = '2025-11-25', capabilities = {}, headers = {} } = options
    const params = { protocolVersion: version, capabilities, clientInfo: { name: 'raw', version: '1' } }
    const response = await post(url, headers, { jsonrpc: '2.0', id: 0, method: 'initialize', params })
    const initialized = (await response.json()) as Incoming
    const session = new RawSession(url, response.headers.get('mcp-session-id') ?? '', initialized, version, headers)
    await session.send({ jsonrpc: '2.0', method: 'notifications/initialized' })
    return session
  }

  /** Sends any message, with the session's headers. */
  send(message: object): Promise<Response> {
    return post(this.url, this.headers, message)
  }

  /** Sends a request; its messages come on the stream, the response last. */
  async open(method: string, params: object = {}): Promise<MessageStream> {
    const abort = new AbortController()
    const message = { jsonrpc: '2.0', id: this.#nextId++, method, params }
    return new MessageStream(await post(this.url, this.headers, message, abort.signal), abort)
  }

  /** Calls a tool. */
  call(name: string, args: object = {}): Promise<MessageStream> {
    return this.open('tools/call', { name, arguments: args })
  }

  /** Sends a request that asks nothing; gives its response. */
  async request(method: string, params: object = {}): Promise<Incoming> {
    const messages = await (await this.open(method, params)).rest()
    return messages.at(-1) as Incoming
  }

  /** Answers a pushed question. `more` goes beside the result: `state`, for one that echoes. */
  answer(question: Incoming, result: object, more: object = {}): Promise<Response> {
    return this.send({ jsonrpc: '2.0', id: question.id, result, ...more })
  }

  /** A GET stream: one that was lost, or the session's own. */
  async listen(lastEventId?: string): Promise<MessageStream> {
    const abort = new AbortController()
    const resume = lastEventId === undefined ? {} : { 'last-event-id': lastEventId }
    const headers = { ...this.headers, accept: 'text/event-stream', ...resume }
    return new MessageStream(await fetch(this.url, { headers, signal: abort.signal }), abort)
  }

  end(): Promise<Response> {
    return fetch(this.url, { method: 'DELETE', headers: this.headers })
  }

  get headers(): Record<string, string> {
    return { ...this.#more, 'mcp-session-id': this.id, 'mcp-protocol-version': this.version }
  }
}

export function post(
  url: string,
  headers: Record<string, string>,
  message: object,
  signal?: AbortSignal,
): Promise<Response> {
  const media = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
  const body = JSON.stringify(message)
  return fetch(url, { method: 'POST', headers: { ...media, ...headers }, body, ...(signal && { signal }) })
}
