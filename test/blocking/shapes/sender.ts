/** Who sends the shapes: clients of both eras, with sessions where they need them. */
import { envelope, TAKES_TASKS, VERSION } from '../../fixtures/modernClient.ts'
import type { Addresses, SentRequest, Subject } from '../fixtures/subject.ts'

/** A request that might stop the event loop. `answer`: part of the answer, which shows how far the request came. */
export type Shape = readonly [what: string, answer: string, sent: (client: Sender) => SentRequest]

/** All headers of a request together have at most 16 KB. */
export const HEADER_CHARS = 14_000

type Headers = SentRequest['headers']

interface MoreParts {
  readonly headers?: Headers
  readonly meta?: Record<string, unknown>
  readonly id?: unknown
  /** @default what takes tasks and questions */
  readonly capabilities?: Record<string, unknown>
}

const MEDIA = { 'content-type': 'application/json', accept: 'application/json, text/event-stream' }
const ASKED = { elicitation: {} }
/** The clients of the session era, and what each declares. */
const SESSIONS = {
  asked: { at: 'server', version: '2025-11-25', capabilities: ASKED },
  echoing: {
    at: 'server',
    version: '2025-11-25',
    capabilities: { ...ASKED, experimental: { 'dev.pannier/state-echo': {} } },
  },
  batches: { at: 'server', version: '2025-03-26', capabilities: ASKED },
  gateway: { at: 'gateway', version: '2025-11-25', capabilities: ASKED },
} as const

type SessionName = keyof typeof SESSIONS

export function message(method: string, params: object, id: unknown = 1): string {
  return JSON.stringify({ jsonrpc: '2.0', id, method, params })
}

/** A call in a session. */
export function called(name: string, args: unknown = {}): string {
  return message('tools/call', { name, arguments: args })
}

export class Sender {
  readonly #addresses: Addresses
  readonly #sessions: ReadonlyMap<SessionName, string>

  private constructor(addresses: Addresses, sessions: ReadonlyMap<SessionName, string>) {
    this.#addresses = addresses
    this.#sessions = sessions
  }

  static async connect(subject: Subject): Promise<Sender> {
    const { addresses } = subject
    const sessions = new Map<SessionName, string>()
    for (const name of Object.keys(SESSIONS) as SessionName[]) {
      const { at, version, capabilities } = SESSIONS[name]
      const begun = await subject.send(new Sender(addresses, sessions).initialize({ capabilities, version }, at))
      sessions.set(name, String(begun.headers['mcp-session-id']))
    }
    return new Sender(addresses, sessions)
  }

  /** A request of the stateless era. `at`: a path behind that of the gateway, or the server or the guarded one. */
  modern(at: string, method: string, params: object, more: MoreParts = {}) {
    const { headers, meta, id, capabilities = TAKES_TASKS } = more
    const { name, uri, taskId } = params as Record<string, unknown>
    const named = name ?? uri ?? taskId
    return {
      url: this.#url(at),
      headers: {
        ...MEDIA,
        'mcp-protocol-version': VERSION,
        'mcp-method': method,
        ...(typeof named === 'string' && { 'mcp-name': named.slice(0, HEADER_CHARS) }),
        ...headers,
      },
      body: message(method, { ...params, _meta: envelope(capabilities, meta) }, id),
    }
  }

  /** A call of a tool of the server. */
  call(name: string, args: unknown, more: object = {}, parts: MoreParts = {}) {
    return this.modern('server', 'tools/call', { name, arguments: args, ...more }, parts)
  }

  /** A call through the gateway. */
  relayed(name: string, args: unknown, more: object = {}, path = '/mcp') {
    return this.modern(path, 'tools/call', { name, arguments: args, ...more })
  }

  /** A call through the gateway with rules, of a client that cannot be asked. */
  ruled(name: string, args: unknown) {
    return this.modern(
      'ruled',
      'tools/call',
      { name, arguments: args },
      { headers: { 'x-user': 'ann' }, capabilities: {} },
    )
  }

  /** A call at the address of one server of the gateway, where requests may pass unread. */
  passed(args: unknown, headers: Headers = {}, path = '/mcp/modern') {
    return this.modern(path, 'tools/call', { name: 'echo', arguments: args }, { headers })
  }

  /** A call of a tool that finds, describes or calls others. */
  finding(name: string, args: object) {
    return this.modern('/views/found', 'tools/call', { name, arguments: args })
  }

  /** A call of the plain tool with other headers. */
  withHeaders(headers: Headers, at = 'server') {
    return this.modern(at, 'tools/call', { name: 'plain', arguments: {} }, { headers })
  }

  /** Any body, with the headers of a call. */
  withBody(body: string | Buffer): SentRequest {
    return { ...this.call('plain', {}), body }
  }

  /** A call with a JSON text among its arguments that no value is written as. */
  withText(text: string): SentRequest {
    return this.withBody(this.call('plain', { text: 'HERE' }).body.replace('"HERE"', () => text))
  }

  /** What begins a session. */
  initialize(more: { capabilities?: object; version?: string; client?: string }, at = 'server'): SentRequest {
    const { capabilities = {}, version: protocolVersion = '2025-11-25', client: name = 'raw' } = more
    const params = { protocolVersion, capabilities, clientInfo: { name, version: '1' } }
    return { url: this.#url(at), headers: MEDIA, body: message('initialize', params) }
  }

  inSession(of: SessionName, body: string, headers: Headers = {}): SentRequest {
    const { at, version } = SESSIONS[of]
    const own = { 'mcp-session-id': this.#sessions.get(of), 'mcp-protocol-version': version }
    return { url: this.#url(at), headers: { ...MEDIA, ...own, ...headers }, body }
  }

  /** An answer to a question. */
  answering(of: SessionName, answer: object): SentRequest {
    return this.inSession(of, JSON.stringify({ jsonrpc: '2.0', id: 'q', ...answer }))
  }

  /** Comes back to a stream. */
  resuming(lastEventId: string): SentRequest {
    const headers = { accept: 'text/event-stream', 'mcp-session-id': this.#sessions.get('asked') }
    return { url: this.#url('server'), method: 'GET', headers: { ...headers, 'last-event-id': lastEventId } }
  }

  #url(at: string): string {
    const { gateway } = this.#addresses
    if (at.startsWith('/')) return new URL(at, gateway).href
    return this.#addresses[at as keyof Addresses]
  }
}
