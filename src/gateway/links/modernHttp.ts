/** Links to stateless-era servers over HTTP. Nothing stays open: each request is one POST. */
import {
  isObject,
  type Json,
  MODERN_VERSION,
  RemoteError,
  remoteErrorIn,
  requestHeaders,
} from '../../protocol/index.ts'
import { type Authorizer, failureReason, type HttpAddress } from '../../client/index.ts'
import {
  mayBeMessage,
  MessageOverLimit,
  parseServerText,
  ServerUnreadable,
  UnreadableRun,
} from '../../client/internal.ts'
import {
  BackendError,
  BehindItself,
  credentialsRefused,
  NO_MESSAGE,
  notInTime,
  overLimit,
  SessionForgotten,
  unanswered,
  unreadable,
} from '../errors.ts'
import { type About, type Link, type LinkOptions, cancelledBy, ownRequest } from './link.ts'
import { isOfSessionEra, SessionLost } from './lostSession.ts'
import { Upstream, Upstreams } from '../upstreams/upstreams.ts'
import { type Credentials, paramsFor, type Relayed } from './relayed.ts'
import { discovered } from './session.ts'
import { LOOP_STATUS } from '../loops.ts'
import type { EventSink, Exchange } from './http/exchange.ts'
import { Requester, OWN_HEADERS } from './http/requester.ts'

const FORMATS = { ...OWN_HEADERS, accept: 'application/json, text/event-stream', 'content-type': 'application/json' }

/** Opens a link; undefined if the server does not speak the stateless era. Tries all its addresses. */
export async function openModernHttp(
  address: HttpAddress,
  options: LinkOptions,
  authorizer: Authorizer | undefined,
): Promise<Link | undefined> {
  const upstreams = options.upstreams ?? new Upstreams([address.url], options.via, options.maxMessageBytes)
  const link = new ModernHttpLink(address, { ...options, upstreams }, authorizer)
  // The login is for the first address.
  const addresses = authorizer === undefined ? upstreams.all : upstreams.all.slice(0, 1)
  const tried = await Promise.allSettled(addresses.map((upstream) => link.discover(upstream)))
  const found = tried.find((each) => each.status === 'fulfilled')
  if (found === undefined) throw (tried[0] as PromiseRejectedResult).reason
  if (found.value === undefined) return undefined
  link.about = found.value
  return link
}

/** Only an unreachable server is an error here: session-era servers may answer anything to this request. */
function notModern(error: unknown): undefined {
  if (error instanceof BackendError && (error.reason === 'BACKEND_DOWN' || error.reason === 'BACKEND_REFUSED'))
    throw error
}

type ModernLinkOptions = LinkOptions & { readonly upstreams: Upstreams }

class ModernHttpLink implements Link {
  readonly era = 'modern'
  readonly isClosed = false
  readonly hasLeftovers = false
  readonly hasSession = false
  readonly isStreamSession = false
  readonly session = undefined
  readonly hasOwnHeaders = true
  readonly isDirect: boolean
  about: About = { version: MODERN_VERSION, info: undefined, capabilities: {}, instructions: undefined }
  readonly #address: HttpAddress
  readonly #options: ModernLinkOptions
  readonly #authorizer: Authorizer | undefined
  /** The headers of requests without credentials of their own. */
  readonly #usualHeaders: Readonly<Record<string, string>>
  #inFlight = 0
  #lastId = 0

  constructor(address: HttpAddress, options: ModernLinkOptions, authorizer: Authorizer | undefined) {
    this.#address = address
    this.#options = options
    this.isDirect = authorizer === undefined
    this.#authorizer = authorizer
    this.#usualHeaders = this.#headersWith(options.credentials)
  }

  get inFlight(): number {
    return this.#inFlight
  }

  /** The server's description of itself at this address; undefined if it is of the session era. */
  async discover(upstream: Upstream): Promise<About | undefined> {
    const { startMs, upstreams, signal } = this.#options
    const late = AbortSignal.timeout(startMs)
    try {
      const onCancel = cancelledBy(AbortSignal.any([late, signal]))
      const asked = ownRequest('server/discover', {}, { onCancel, isEndless: true })
      return discovered(await this.#send(asked, upstream, this.#authorizer))
    } catch (error) {
      if (error instanceof BackendError && error.reason === 'BACKEND_DOWN') upstreams.leaveOut(upstream)
      return notModern(error)
    }
  }

  request(relayed: Relayed): Promise<Json> {
    const { upstreams } = this.#options
    const isDirect = this.isDirect || this.#ownOf(relayed) !== undefined
    return isDirect ? this.#send(relayed, upstreams, undefined) : this.#send(relayed, upstreams.first, this.#authorizer)
  }

  close(): Promise<void> {
    return Promise.resolve()
  }

  detach(): Promise<void> {
    return this.close()
  }

  retire(): Promise<void> {
    return this.close()
  }

  /** Sends with the server's timeout, and until the caller cancels. */
  async #send(relayed: Relayed, target: Upstream | Upstreams, authorizer: Authorizer | undefined): Promise<Json> {
    const { timeoutMs, server } = this.#options
    const cancelled = new AbortController()
    const late = (): void => cancelled.abort(notInTime(server, timeoutMs))
    const timer = relayed.isEndless ? undefined : setTimeout(late, timeoutMs)
    relayed.onCancel(() => cancelled.abort(new BackendError('BACKEND_LOST', server, 'was left by the caller.')))
    this.#inFlight++
    try {
      return await this.#exchange(this.#messageOf(relayed, ++this.#lastId), target, authorizer, cancelled.signal)
    } finally {
      this.#inFlight--
      clearTimeout(timer)
    }
  }

  #headersWith(credentials: Credentials | undefined): Record<string, string> {
    return { ...lowered(this.#address.headers), ...lowered(credentials?.headers), ...FORMATS }
  }

  /** The caller's own credentials, with which the operator's login is not used. */
  #ownOf(relayed: Relayed): Credentials | undefined {
    return relayed.credentials ?? this.#options.credentials
  }

  #messageOf(relayed: Relayed, id: number): OwnMessage {
    const { method, notify } = relayed
    const params = paramsFor('modern', relayed)
    const usual = relayed.credentials === undefined ? this.#usualHeaders : this.#headersWith(relayed.credentials)
    const headers = { ...usual, ...requestHeaders(method, params, MODERN_VERSION), ...lowered(relayed.headers) }
    return { id, headers, body: JSON.stringify({ jsonrpc: '2.0', id, method, params }), notify }
  }

  /** Follows redirects of a single address to other paths, and renews the login. */
  async #exchange(
    { id, headers, body, notify }: OwnMessage,
    target: Upstream | Upstreams,
    authorizer: Authorizer | undefined,
    signal: AbortSignal,
  ): Promise<Json> {
    signal.throwIfAborted()
    const requester = new Requester(target, authorizer)
    const stream = new MessageStream(id, notify, (text) => this.#parsed(text))
    const close = (): void => {
      requester.close()
      stream.end()
    }
    signal.addEventListener('abort', close)
    let sent: Exchange | undefined
    const onOpen = (exchange: Exchange): void => void (sent = exchange)
    try {
      const entries = Object.entries(headers)
      const reply = await requester.request({ method: 'POST', headers: entries, body, sink: stream, onOpen })
      if (reply.path !== undefined && target instanceof Upstream) target.moveTo(reply.path)
      const answer = reply.isStream ? await stream.whole : this.#parsed(await reply.text())
      return this.#resultOf(answer, id, reply.status)
    } catch (error) {
      throw signal.aborted ? signal.reason : this.#failure(error, sent?.wasSent ?? false)
    } finally {
      signal.removeEventListener('abort', close)
      close()
    }
  }

  /** The parsed message; the error for a text over the limit; undefined for an invalid text. */
  #parsed(text: string): unknown {
    try {
      return parseServerText(text, this.#options.upstreams.first.maxMessageBytes)
    } catch (error) {
      return error
    }
  }

  #resultOf(message: unknown, id: number, status: number): Json {
    const { server } = this.#options
    if (message instanceof MessageOverLimit) throw overLimit(server, message)
    if (message instanceof ServerUnreadable) throw unreadable(server, message)
    const { id: answered, result, error } = isObject(message) ? message : {}
    if (answered === id && isObject(result)) return result
    if (status === LOOP_STATUS) throw new BehindItself(server)
    const sentence = isObject(error) && answered !== id ? error['message'] : undefined
    if (typeof sentence === 'string' && isOfSessionEra(status, sentence))
      throw new SessionForgotten(server, new SessionLost())
    if (status === 401) throw credentialsRefused(server)
    const refusal = remoteErrorIn(error)
    if (refusal !== undefined) throw refusal
    if (status === 403) throw credentialsRefused(server)
    const what = status >= 400 ? `answered HTTP ${status}.` : NO_MESSAGE
    throw new BackendError('BACKEND_INVALID', server, what)
  }

  #failure(error: unknown, wasSent: boolean): Error {
    const { server } = this.#options
    if (error instanceof RemoteError) return error
    if (error instanceof MessageOverLimit) return overLimit(server, error)
    return failureReason(error).isUnauthorized ? credentialsRefused(server) : unanswered(server, error, wasSent)
  }
}

function lowered(headers: Readonly<Record<string, string>> = {}): Record<string, string> {
  const lower: Record<string, string> = {}
  for (const name in headers) lower[name.toLowerCase()] = headers[name] as string
  return lower
}

/** A request as it is sent. */
interface OwnMessage {
  readonly id: number
  readonly headers: Readonly<Record<string, string>>
  readonly body: string
  readonly notify: Relayed['notify']
}

/** The messages of a stream: notifications for the caller, and the answer. */
class MessageStream implements EventSink {
  readonly #id: number
  readonly #notify: Relayed['notify']
  readonly #parse: (text: string) => unknown
  readonly #answer = Promise.withResolvers<unknown>()
  /** The answer; undefined if the stream has ended without one. */
  readonly whole = this.#answer.promise
  readonly #unreadable = new UnreadableRun()
  #isOver = false

  constructor(id: number, notify: Relayed['notify'], parse: (text: string) => unknown) {
    this.#id = id
    this.#notify = notify
    this.#parse = parse
    this.whole.catch(() => {}) // perhaps it is never read
  }

  event({ data }: { data: string }): void {
    if (!this.#isOver && mayBeMessage(data)) this.#read(this.#parse(data))
  }

  retry(): void {}

  end(error?: Error): void {
    this.#isOver = true
    if (error === undefined) this.#answer.resolve(undefined)
    else this.#answer.reject(error)
  }

  #read(message: unknown): void {
    const { id, method, params } = isObject(message) ? message : {}
    // A message over the limit ends the request.
    if (id === this.#id || message instanceof MessageOverLimit) return this.#end(message)
    if (typeof method === 'string') {
      this.#unreadable.end()
      if (isObject(params)) this.#notify(method, params)
    } else if (this.#unreadable.add()) this.#end(new ServerUnreadable())
  }

  #end(answer: unknown): void {
    this.#isOver = true
    this.#answer.resolve(answer)
  }
}
