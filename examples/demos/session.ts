/** A client of revision 2025-11-25 by plain `fetch`: a session, and a stream of messages for each request. */
import { EventSourceParserStream } from 'eventsource-parser/stream'

/** A message as it came. */
export type Message = Readonly<Record<string, unknown>>

const VERSION = '2025-11-25'
const MEDIA = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }

/** The messages of one answer; the response to the request is the last. */
export interface MessageStream {
  next(): Promise<Message>
  /** The id of the last event, with which a lost stream is resumed. */
  lastEventId(): string | undefined
  /** Drops the connection. */
  cut(): void
}

export class Session {
  /** The instance that gets the next message. */
  url: string
  readonly initialized: Message
  readonly #headers: Readonly<Record<string, string>>

  private constructor(url: string, id: string | null, initialized: Message) {
    this.url = url
    this.initialized = initialized
    this.#headers = { 'mcp-protocol-version': VERSION, ...(id !== null && { 'mcp-session-id': id }) }
  }

  static async begin(url: string, capabilities: object): Promise<Session> {
    const clientInfo = { name: 'demo', version: '1.0.0' }
    const params = { protocolVersion: VERSION, capabilities, clientInfo }
    const body = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params })
    const response = await fetch(url, { method: 'POST', headers: MEDIA, body })
    const initialized = (await response.json()) as Message
    const session = new Session(url, response.headers.get('mcp-session-id'), initialized)
    await session.post({ jsonrpc: '2.0', method: 'notifications/initialized' })
    return session
  }

  /** Sends a message; gives its answer's messages. */
  async open(message: object): Promise<MessageStream> {
    const cut = new AbortController()
    return streamOf(await this.post(message, cut.signal), cut)
  }

  /** Comes back to a stream that was cut. */
  async resume(lastEventId: string): Promise<MessageStream> {
    const cut = new AbortController()
    const headers = { ...this.#headers, accept: 'text/event-stream', 'last-event-id': lastEventId }
    return streamOf(await fetch(this.url, { headers, signal: cut.signal }), cut)
  }

  /** Sends a request that asks nothing. */
  async request(message: object): Promise<Message> {
    return (await this.open(message)).next()
  }

  post(message: object, signal?: AbortSignal): Promise<Response> {
    const headers = { ...MEDIA, ...this.#headers }
    const body = JSON.stringify(message)
    return fetch(this.url, { method: 'POST', headers, body, ...(signal && { signal }) })
  }

  async end(): Promise<void> {
    await fetch(this.url, { method: 'DELETE', headers: this.#headers })
  }
}

function streamOf(response: Response, cut: AbortController): MessageStream {
  let lastEventId: string | undefined
  async function* read(): AsyncGenerator<Message> {
    if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
      yield (await response.json()) as Message
      return
    }
    const text = response.body?.pipeThrough(new TextDecoderStream())
    for await (const { id, data } of text?.pipeThrough(new EventSourceParserStream()) ?? []) {
      lastEventId = id ?? lastEventId
      if (data !== '') yield JSON.parse(data) as Message
    }
  }
  const messages = read()
  return {
    async next() {
      const { value, done } = await messages.next()
      if (done === true) throw new Error(`the stream ended (HTTP ${response.status}).`)
      return value
    },
    lastEventId: () => lastEventId,
    cut: () => cut.abort(),
  }
}
