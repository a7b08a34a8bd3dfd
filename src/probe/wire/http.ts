/**
 * A server over HTTP. Invariants:
 * - Each request has a new connection.
 * - Credentials go to the origin that was named, and to no other.
 * - Every session that begins is ended.
 * - Requests, bytes and time have limits.
 */
import type { IncomingMessage } from 'node:http'
import { parseJson, unlessAborted } from '../../protocol/index.ts'
import type { RequestBudget } from '../budget.ts'
import {
  type Headers,
  hiddenValues,
  messageHeaders,
  withGivenHeaders,
  instancesOf,
  disconnectedBy,
  locate,
  type Lookup,
  type ProbedInstance,
  instanceText,
  sendHttp,
} from './httpRequest.ts'
import { httpFactsOf, readHttpReply } from './httpReply.ts'
import type { AnswerMessage, Notification, Request } from './messages.ts'
import { serverRequestIn, type ProbeReply } from './reply.ts'
import { isStream, type StreamReply, type ListenLimits, listenTo } from './sse.ts'
import { timeLimit } from './timeLimit.ts'
import { type Tracer, tracedHeaders } from './trace.ts'

interface HttpWireOptions {
  readonly url: URL
  readonly headers: Headers
  readonly timeoutMs: number
  readonly budget: RequestBudget
  readonly tracer: Tracer
  readonly signal: AbortSignal | undefined
  readonly lookup: Lookup | undefined
}

interface HttpSendOptions {
  /** @default the server's URL, after redirects */
  readonly instance?: ProbedInstance
  readonly timeoutMs?: number
  /** Sent in place of the probe's own credentials. */
  readonly credentials?: Headers
  /** Sent even when the probe was aborted. */
  readonly isCleanup?: boolean
  /** Called with each message of the reply as it comes. */
  readonly onMessage?: (text: string) => void
}

interface ProbeHttpRequest {
  readonly method: 'POST' | 'GET' | 'DELETE'
  readonly headers: Headers
  readonly body?: string
}

type Read<T> = (response: IncomingMessage, note: (text: string) => void) => Promise<T>

const MAX_REDIRECTS = 3
/** How long a server may take to end a session. */
const END_SESSION_MS = 1_000

export class HttpWire {
  readonly transport = 'http'
  /** The methods of requests that the server sent on the GET stream. */
  readonly unrelated: string[] = []
  readonly #options: HttpWireOptions
  /** The open sessions, and the instance that each began on. */
  readonly #sessions = new Map<string, ProbedInstance>()
  #home: ProbedInstance
  readonly #closing = new AbortController()

  constructor(options: HttpWireOptions) {
    this.#options = options
    this.#home = { url: options.url }
  }

  /** How many requests were sent. */
  get requests(): number {
    return this.#options.budget.used
  }

  /** One instance for each IP address of the server's name; none if it has one address or cannot be resolved in time. */
  async instances(): Promise<readonly ProbedInstance[]> {
    const { timeoutMs, signal, lookup } = this.#options
    const limit = timeLimit(timeoutMs, signal)
    try {
      return await unlessAborted(limit.signal, instancesOf(this.#home.url, lookup))
    } catch {
      signal?.throwIfAborted()
      return []
    } finally {
      limit.clear()
    }
  }

  post(
    message: Request | Notification | AnswerMessage,
    headers: Headers = {},
    sending: HttpSendOptions = {},
  ): Promise<ProbeReply> {
    const { tracer } = this.#options
    const id = 'id' in message && 'method' in message ? message.id : -1
    const request = {
      method: 'POST',
      headers: { ...messageHeaders(message), ...headers },
      body: JSON.stringify(message),
    } as const
    return this.#exchange(request, sending, (response, note) =>
      readHttpReply(response, {
        id,
        shown: (text) => tracer.line(text),
        onText: (text) => {
          note(text)
          sending.onMessage?.(text)
        },
      }),
    )
  }

  /** Opens the GET stream and listens to it. */
  async listen(
    headers: Headers,
    options: ListenLimits,
    sending: HttpSendOptions = {},
  ): Promise<StreamReply | ProbeReply> {
    const { tracer } = this.#options
    const request = { method: 'GET', headers: { accept: 'text/event-stream', ...headers } } as const
    // The time limit for the response headers and the time to listen add up.
    const timeoutMs = this.#options.timeoutMs + options.listenMs
    const reply = await this.#exchange<StreamReply | ProbeReply>(
      request,
      { timeoutMs, ...sending },
      async (response, note) => {
        if (!isStream(response))
          return readHttpReply(response, { id: -1, shown: (text) => tracer.line(text), onText: note })
        const listened = await listenTo(response, options)
        note(listened.events.map(({ data }) => data).join('\n'))
        return listened
      },
    )
    if (reply.kind === 'stream')
      this.unrelated.push(...reply.events.flatMap(({ data }) => serverRequestIn(parseJson(data)) ?? []))
    return reply
  }

  /** Ends an open session. Returns the HTTP status, or undefined without a response. */
  async endSession(id: string, headers: Headers = {}): Promise<number | undefined> {
    const instance = this.#sessions.get(id)
    if (instance === undefined) return undefined
    this.#sessions.delete(id)
    this.#options.budget.release()
    const request = { method: 'DELETE', headers: { ...headers, 'mcp-session-id': id } } as const
    const timeoutMs = Math.min(this.#options.timeoutMs, END_SESSION_MS)
    const status = await this.#exchange(request, { instance, timeoutMs, isCleanup: true }, async (response, note) => {
      note('')
      response.destroy()
      return response.statusCode
    })
    return typeof status === 'number' ? status : undefined
  }

  /** Ends requests that are still under way, then the open sessions. */
  async close(): Promise<void> {
    this.#closing.abort()
    await Promise.all([...this.#sessions.keys()].map((id) => this.endSession(id)))
  }

  /** Sends a request, follows redirects within the origin, and reads the response. Failures become replies. */
  async #exchange<T>(request: ProbeHttpRequest, sending: HttpSendOptions, read: Read<T>): Promise<T | ProbeReply> {
    const { timeoutMs = this.#options.timeoutMs, isCleanup = false } = sending
    const outer = isCleanup ? undefined : this.#options.signal
    const limit = timeLimit(timeoutMs, isCleanup ? undefined : anyOf(this.#closing.signal, outer))
    try {
      return await this.#follow(request, sending, read, limit.signal)
    } catch (error) {
      outer?.throwIfAborted()
      return limit.isOver ? { kind: 'timed-out', waitedMs: timeoutMs } : disconnectedBy(error)
    } finally {
      limit.clear()
    }
  }

  async #follow<T>(
    request: ProbeHttpRequest,
    sending: HttpSendOptions,
    read: Read<T>,
    signal: AbortSignal,
  ): Promise<T | ProbeReply> {
    let instance = sending.instance ?? this.#home
    for (let hop = 0; ; hop++) {
      const mayBegin = request.method === 'POST' && !('mcp-session-id' in request.headers)
      if (!this.#options.budget.take(mayBegin ? 2 : 1)) return { kind: 'not-sent' }
      const { response, note } = await this.#send(request, instance, sending, signal)
      const redirect = redirectIn(response, instance)
      if (redirect === undefined) return read(response, note)
      note('')
      response.destroy()
      if (redirect.kind === 'refuse' || hop === MAX_REDIRECTS) return this.#redirectReply(response, redirect)
      if (instance === this.#home) this.#home = redirect.instance
      instance = redirect.instance
    }
  }

  async #send(
    request: ProbeHttpRequest,
    instance: ProbedInstance,
    { credentials = this.#options.headers }: HttpSendOptions,
    signal: AbortSignal,
  ) {
    const { tracer } = this.#options
    const connection = tracer.nextConnection()
    const headers = withGivenHeaders(credentials, request.headers)
    const shown = withGivenHeaders(hiddenValues(credentials), request.headers)
    tracer.note('sent', connection, `${request.method} ${instanceText(instance)}`, {
      headers: shown,
      text: request.body ?? '',
    })
    const response = await sendHttp({ ...request, headers, instance: await this.#located(instance, signal), signal })
    if (request.method !== 'DELETE')
      this.#registerSession(httpFactsOf(response).session, request.headers['mcp-session-id'], instance)
    const way = `HTTP ${response.statusCode}`
    const note = (text: string): void =>
      tracer.note('received', connection, way, { headers: tracedHeaders(response.headers), text })
    return { response, note }
  }

  /** Uses the caller's resolver, if there is one. */
  async #located(instance: ProbedInstance, signal: AbortSignal): Promise<ProbedInstance> {
    const { lookup } = this.#options
    return lookup === undefined || instance.address !== undefined
      ? instance
      : unlessAborted(signal, locate(instance, lookup))
  }

  /** Remembers a new session id, so that its session is ended. */
  #registerSession(session: string | undefined, sent: string | undefined, instance: ProbedInstance): void {
    if (session === undefined || session === sent || this.#sessions.has(session)) return
    this.#options.tracer.secrets.add(session)
    if (this.#options.budget.reserve()) this.#sessions.set(session, instance)
  }

  #redirectReply(response: IncomingMessage, redirect: Redirect): ProbeReply {
    const { to, isElsewhere } =
      redirect.kind === 'refuse' ? redirect : { to: 'itself again and again', isElsewhere: false }
    return { kind: 'redirected', to: this.#options.tracer.line(to), isElsewhere, http: httpFactsOf(response) }
  }
}

function anyOf(one: AbortSignal, other: AbortSignal | undefined): AbortSignal {
  return other === undefined ? one : AbortSignal.any([one, other])
}

type Redirect =
  /** Within the origin, with the same method and body. */
  | { readonly kind: 'follow'; readonly instance: ProbedInstance }
  /** Anything else: another origin must not get the credentials, and 301 to 303 would turn a POST into a GET. */
  | { readonly kind: 'refuse'; readonly to: string; readonly isElsewhere: boolean }

const REDIRECT_STATUSES: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

function redirectIn({ statusCode = 0, headers }: IncomingMessage, from: ProbedInstance): Redirect | undefined {
  const { location } = headers
  if (!REDIRECT_STATUSES.has(statusCode) || location === undefined || !URL.canParse(location, from.url))
    return undefined
  const url = new URL(location, from.url)
  const isElsewhere = url.origin !== from.url.origin
  const isSame = (statusCode === 307 || statusCode === 308) && !isElsewhere
  return isSame
    ? { kind: 'follow', instance: { ...from, url } }
    : { kind: 'refuse', to: shownOf(url, isElsewhere), isElsewhere }
}

/** Without the query; only the scheme if it is not HTTP. */
function shownOf({ protocol, origin, pathname }: URL, isElsewhere: boolean): string {
  if (!isElsewhere) return pathname
  return /^https?:$/.test(protocol) ? origin + pathname : `a ${protocol} address`
}
