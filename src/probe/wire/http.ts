/**
 * A server over HTTP. Each request has a connection of its own; the probe's credentials go to the server that was named
 * and to no other; every session that begins is ended; and there is a limit to all of it: requests, bytes and time.
 */
import type { IncomingMessage } from 'node:http'
import { parseJson } from '../../protocol/index.ts'
import type { Allowance } from '../budget.ts'
import { type Headers, hiddenValues, messageHeaders, withCredentials } from './headers.ts'
import { factsOf, readAnswer } from './httpReply.ts'
import { addressesOf, goneBy, locate, type Lookup, type Place, placeText, sendHttp } from './httpRequest.ts'
import type { Notification, Request } from './messages.ts'
import { askedIn, type Heard } from './reply.ts'
import { isStream, type Listened, type ListenOptions, listenTo } from './sse.ts'
import { timeLimit, until } from './timeLimit.ts'
import { type Recorder, tellingHeaders } from './trace.ts'

interface HttpWireOptions {
  readonly url: URL
  readonly headers: Headers
  readonly timeoutMs: number
  readonly allowance: Allowance
  readonly recorder: Recorder
  readonly signal: AbortSignal | undefined
  readonly lookup: Lookup | undefined
}

/** Where a request goes, if not to the server itself, and how long its answer may take. */
interface Sending {
  readonly place?: Place
  readonly timeoutMs?: number
  /** Instead of the probe's own credentials. */
  readonly credentials?: Headers
  /** Sent also when the probe was told to give up. */
  readonly isCleanup?: boolean
}

interface Ask {
  readonly method: 'POST' | 'GET' | 'DELETE'
  readonly headers: Headers
  readonly body?: string
}

type Read<T> = (response: IncomingMessage, note: (text: string) => void) => Promise<T>

const MAX_HOPS = 3
/** How long a server may take to end a session. */
const GOODBYE_MS = 2_000

export class HttpWire {
  readonly transport = 'http'
  /** What the server asked for on a stream of no request. */
  readonly unrelated: string[] = []
  readonly #options: HttpWireOptions
  /** The sessions that have begun and not ended, and where. */
  readonly #sessions = new Map<string, Place>()
  #home: Place

  constructor(options: HttpWireOptions) {
    this.#options = options
    this.#home = { url: options.url }
  }

  /** The server at each of its addresses, where its name has several; none where they cannot be found in time. */
  async addresses(): Promise<readonly Place[]> {
    const { timeoutMs, signal, lookup } = this.#options
    const limit = timeLimit(timeoutMs, signal)
    try {
      return await until(limit.signal, addressesOf(this.#home.url, lookup))
    } catch {
      signal?.throwIfAborted()
      return []
    } finally {
      limit.clear()
    }
  }

  post(message: Request | Notification, headers: Headers = {}, sending: Sending = {}): Promise<Heard> {
    const { recorder } = this.#options
    const id = 'id' in message ? message.id : -1
    const ask = {
      method: 'POST',
      headers: { ...messageHeaders(message), ...headers },
      body: JSON.stringify(message),
    } as const
    return this.#ask(ask, sending, (response, note) =>
      readAnswer(response, { id, shown: (text) => recorder.line(text), onText: note }),
    )
  }

  /** Opens the stream that belongs to no request, and listens to it. */
  async listen(headers: Headers, options: ListenOptions, sending: Sending = {}): Promise<Listened | Heard> {
    const { recorder } = this.#options
    const ask = { method: 'GET', headers: { accept: 'text/event-stream', ...headers } } as const
    // The time that is listened comes on top of what the head of the answer may take.
    const timeoutMs = this.#options.timeoutMs + options.listenMs
    const heard = await this.#ask<Listened | Heard>(ask, { timeoutMs, ...sending }, async (response, note) => {
      if (!isStream(response))
        return readAnswer(response, { id: -1, shown: (text) => recorder.line(text), onText: note })
      const listened = await listenTo(response, options)
      note(listened.events.map(({ data }) => data).join('\n'))
      return listened
    })
    if (heard.kind === 'stream')
      this.unrelated.push(...heard.events.flatMap(({ data }) => askedIn(parseJson(data)) ?? []))
    return heard
  }

  /** Ends a session, if it has not been ended before, and gives the status that is answered. */
  async endSession(id: string, headers: Headers = {}): Promise<number | undefined> {
    const place = this.#sessions.get(id)
    if (place === undefined) return undefined
    this.#sessions.delete(id)
    this.#options.allowance.release()
    const ask = { method: 'DELETE', headers: { ...headers, 'mcp-session-id': id } } as const
    const timeoutMs = Math.min(this.#options.timeoutMs, GOODBYE_MS)
    const status = await this.#ask(ask, { place, timeoutMs, isCleanup: true }, async (response, note) => {
      note('')
      response.destroy()
      return response.statusCode
    })
    return typeof status === 'number' ? status : undefined
  }

  async close(): Promise<void> {
    await Promise.all([...this.#sessions.keys()].map((id) => this.endSession(id)))
  }

  /** Sends, follows redirects within the origin, and reads. What goes wrong becomes something heard. */
  async #ask<T>(ask: Ask, sending: Sending, read: Read<T>): Promise<T | Heard> {
    const { timeoutMs = this.#options.timeoutMs, isCleanup = false } = sending
    const outer = isCleanup ? undefined : this.#options.signal
    const limit = timeLimit(timeoutMs, outer)
    try {
      return await this.#follow(ask, sending, read, limit.signal)
    } catch (error) {
      outer?.throwIfAborted()
      return limit.isOver ? { kind: 'silent', waitedMs: timeoutMs } : goneBy(error)
    } finally {
      limit.clear()
    }
  }

  async #follow<T>(ask: Ask, sending: Sending, read: Read<T>, signal: AbortSignal): Promise<T | Heard> {
    let place = sending.place ?? this.#home
    for (let hop = 0; ; hop++) {
      const mayBegin = ask.method === 'POST' && !('mcp-session-id' in ask.headers)
      if (!this.#options.allowance.take(mayBegin ? 2 : 1)) return { kind: 'unasked' }
      const { response, note } = await this.#send(ask, place, sending, signal)
      const redirect = redirectIn(response, place)
      if (redirect === undefined) return read(response, note)
      note('')
      response.destroy()
      if (redirect.kind === 'stay' || hop === MAX_HOPS) return this.#stayed(response, redirect)
      if (place === this.#home) this.#home = redirect.place
      place = redirect.place
    }
  }

  async #send(ask: Ask, place: Place, { credentials = this.#options.headers }: Sending, signal: AbortSignal) {
    const { recorder } = this.#options
    const connection = recorder.nextConnection()
    const headers = withCredentials(credentials, ask.headers)
    const shown = withCredentials(hiddenValues(credentials), ask.headers)
    recorder.note('sent', connection, `${ask.method} ${placeText(place)}`, { headers: shown, text: ask.body ?? '' })
    const response = await sendHttp({ ...ask, headers, place: await this.#located(place, signal), signal })
    if (ask.method !== 'DELETE') this.#meet(factsOf(response).session, ask.headers['mcp-session-id'], place)
    const way = `HTTP ${response.statusCode}`
    const note = (text: string): void =>
      recorder.note('received', connection, way, { headers: tellingHeaders(response.headers), text })
    return { response, note }
  }

  /** Where the system is not to look names up. */
  async #located(place: Place, signal: AbortSignal): Promise<Place> {
    const { lookup } = this.#options
    return lookup === undefined || place.address !== undefined ? place : until(signal, locate(place, lookup))
  }

  /** A session id came: whoever was given one ends it. */
  #meet(session: string | undefined, sent: string | undefined, place: Place): void {
    if (session === undefined || session === sent || this.#sessions.has(session)) return
    this.#options.recorder.secrets.add(session)
    if (this.#options.allowance.keepBack()) this.#sessions.set(session, place)
  }

  #stayed(response: IncomingMessage, redirect: Redirect): Heard {
    const { to, isElsewhere } =
      redirect.kind === 'stay' ? redirect : { to: 'itself again and again', isElsewhere: false }
    return { kind: 'redirected', to: this.#options.recorder.line(to), isElsewhere, http: factsOf(response) }
  }
}

type Redirect =
  /** Within the origin, with the method and the body as they are. */
  | { readonly kind: 'follow'; readonly place: Place }
  /** Anything else: another host would get what is not meant for it, and a GET is not the same request. */
  | { readonly kind: 'stay'; readonly to: string; readonly isElsewhere: boolean }

const STATUSES: ReadonlySet<number> = new Set([301, 302, 303, 307, 308])

function redirectIn({ statusCode = 0, headers }: IncomingMessage, from: Place): Redirect | undefined {
  const { location } = headers
  if (!STATUSES.has(statusCode) || location === undefined || !URL.canParse(location, from.url)) return undefined
  const url = new URL(location, from.url)
  const isElsewhere = url.origin !== from.url.origin
  const isSame = (statusCode === 307 || statusCode === 308) && !isElsewhere
  return isSame
    ? { kind: 'follow', place: { ...from, url } }
    : { kind: 'stay', to: shownOf(url, isElsewhere), isElsewhere }
}

/** Without the query, and without the path of what is no address of the web. */
function shownOf({ protocol, origin, pathname }: URL, isElsewhere: boolean): string {
  if (!isElsewhere) return pathname
  return /^https?:$/.test(protocol) ? origin + pathname : `a ${protocol} address`
}
