/** Calls servers of the snippets the way a client of revision 2026-07-28 does, one round after the other. */

/** One instance, as a function from request to response: `server.fetch`, or `fetch` itself for a server that listens. */
export type Door = (request: Request) => Promise<Response>

export interface CallerOptions {
  /** @default forms only */
  readonly capabilities?: Record<string, unknown>
  readonly headers?: Record<string, string>
  /** Added to the `_meta` of each request. */
  readonly meta?: Record<string, unknown>
  /** @default an address that no network is asked for */
  readonly url?: string
}

export interface InputRequest {
  readonly method: string
  readonly params?: { readonly message?: string; readonly url?: string; readonly mode?: string }
}

export interface Result {
  readonly resultType: 'complete' | 'input_required'
  readonly inputRequests?: Record<string, InputRequest>
  readonly requestState?: string
  readonly content?: { readonly type: string; readonly text: string }[]
  readonly structuredContent?: Record<string, unknown>
  readonly isError?: boolean
  readonly _meta: Record<string, unknown>
  readonly [member: string]: unknown
}

export interface Reply {
  readonly status: number
  readonly headers: Headers
  readonly result: Result
  readonly error: { readonly code: number; readonly message: string; readonly data?: unknown }
  readonly notifications: { readonly method: string; readonly params: Record<string, unknown> }[]
}

/** What the person, the model or the client says to one request. */
export type Answers = Record<string, unknown>

const VERSION = '2026-07-28'
const FORMS = { elicitation: { form: {} } }

export class Caller {
  readonly #doors: readonly Door[]
  readonly #options: CallerOptions
  #id = 0

  constructor(doors: Door | readonly Door[], options: CallerOptions = {}) {
    this.#doors = typeof doors === 'function' ? [doors] : doors
    this.#options = options
  }

  /** Sends one request; each goes to the next instance. */
  async send(method: string, params: Record<string, unknown> = {}): Promise<Reply> {
    const id = ++this.#id
    const door = this.#doors[(id - 1) % this.#doors.length] as Door
    const body = JSON.stringify({ jsonrpc: '2.0', id, method, params: { ...params, _meta: this.#envelope() } })
    const name = params['name'] ?? params['uri']
    const response = await door(
      new Request(this.#options.url ?? 'http://server.example/mcp', {
        method: 'POST',
        body,
        headers: {
          'content-type': 'application/json',
          accept: 'application/json, text/event-stream',
          'mcp-protocol-version': VERSION,
          'mcp-method': method,
          ...(typeof name === 'string' && { 'mcp-name': name }),
          ...this.#options.headers,
        },
      }),
    )
    return readReply(response)
  }

  /** One round of a tool call. */
  round(name: string, args: Record<string, unknown> = {}, retry: Record<string, unknown> = {}): Promise<Reply> {
    return this.send('tools/call', { name, arguments: args, ...retry })
  }

  /** A tool call through all its rounds; `asked` has the keys of each round's questions. */
  async call(name: string, args: Record<string, unknown>, answers: Answers) {
    const asked: string[][] = []
    let retry: Record<string, unknown> = {}
    for (let round = 1; round <= 20; round++) {
      const reply = await this.round(name, args, retry)
      if (reply.result?.resultType !== 'input_required') return { ...reply, asked, text: textOf(reply) }
      const { inputRequests = {}, requestState } = reply.result
      asked.push(Object.keys(inputRequests))
      retry = {
        inputResponses: Object.fromEntries(Object.keys(inputRequests).map((key) => [key, answers[key]])),
        ...(requestState !== undefined && { requestState }),
      }
    }
    throw new Error(`${name} still asked after 20 rounds.`)
  }

  #envelope(): Record<string, unknown> {
    return {
      'io.modelcontextprotocol/protocolVersion': VERSION,
      'io.modelcontextprotocol/clientInfo': { name: 'docs', version: '1.0.0' },
      'io.modelcontextprotocol/clientCapabilities': this.#options.capabilities ?? FORMS,
      ...this.#options.meta,
    }
  }
}

export function accept(content: Record<string, unknown> = {}): Record<string, unknown> {
  return { action: 'accept', content }
}

export const decline = { action: 'decline' }

export function textOf({ result }: Pick<Reply, 'result'>): string | undefined {
  return result?.content?.[0]?.text
}

async function readReply(response: Response): Promise<Reply> {
  const { status, headers } = response
  const text = await response.text()
  if (text === '') return { status, headers, notifications: [] } as unknown as Reply
  const messages = headers.get('content-type')?.startsWith('text/event-stream')
    ? text
        .split('\n')
        .filter((line) => line.startsWith('data: '))
        .map((line) => JSON.parse(line.slice(6)))
    : [JSON.parse(text)]
  const { result, error } = messages.pop()
  return { status, headers, result, error, notifications: messages }
}
