/** The other end of a transport, played by the test: what is said to each method, and everything that was asked. */
import type { Layer, WireMessage } from 'pannier/client'
import { Above, FakeTransport, type Loose } from './fakeTransport.ts'

type Sent = FakeTransport['sent'][number]
/** A result; `{ error }` for an error; undefined to stay silent; a thrown error for a message that cannot be sent. */
type Part = (params: Loose, message: Sent) => object | undefined

export class Script {
  readonly wire = new FakeTransport()
  readonly above: Above<FakeTransport>
  readonly parts: Record<string, Part>

  constructor(layer: Layer, parts: Record<string, Part>) {
    this.parts = parts
    this.wire.react = (message) => this.#react(message)
    this.above = new Above(layer(this.wire))
  }

  /** What was asked by this method so far. */
  asked(method: string): Sent[] {
    return this.wire.sent.filter((message) => message.method === method)
  }

  get methods(): (string | undefined)[] {
    return this.wire.sent.map(({ method }) => method)
  }

  /** The answer to a request of the client, if it has come. */
  answer(id: unknown): Loose {
    return this.above.heard.find((message) => message.id === id && message.method === undefined)
  }

  call(id: number, params: object = {}, options?: object): Promise<void> {
    return this.above.send(
      { id, method: 'tools/call', params: { name: 'job', arguments: {}, ...params } },
      options as never,
    )
  }

  say(message: object): void {
    this.wire.say(message)
  }

  #react(message: Sent): void {
    const { id, method } = message
    const part = method === undefined ? undefined : this.parts[method]
    if (part === undefined || id === undefined) return
    const answer = part(message.params ?? {}, message)
    if (answer === undefined) return
    const isError = 'error' in answer && !('taskId' in answer)
    const said: WireMessage = isError ? { id, ...answer } : { id, result: answer }
    // Not before the message has been sent.
    queueMicrotask(() => this.say(said))
  }
}

const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'test', version: '1' },
}

/** What a request of 2026-07-28 brings. */
export function envelope(capabilities: object = {}, more: object = {}): object {
  return { _meta: { ...ENVELOPE, 'io.modelcontextprotocol/clientCapabilities': capabilities, ...more } }
}

export function task(status: string, more: object = {}): object {
  return {
    taskId: 't1',
    status,
    createdAt: '2026-01-01T00:00:00Z',
    lastUpdatedAt: '2026-01-01T00:00:00Z',
    ttlMs: null,
    ...more,
  }
}

export const form = (message = 'Who?') => ({
  method: 'elicitation/create',
  params: { message, requestedSchema: { type: 'object', properties: {} } },
})

export const text = (value: string) => ({ content: [{ type: 'text', text: value }] })
export const accept = (content: object = {}) => ({ action: 'accept', content })
