/**
 * Whether a server has refused a request because it does not know its session, or wants one: before it began anything. The
 * specification says 404 where a session was sent; many servers say it in other ways. An error with the id of the request is
 * the answer to it, whatever its status: the call may have been done, so it is never sent again.
 */
import type { FetchLike } from '@modelcontextprotocol/client'
import { isObject, parseJson, RemoteError } from '../../protocol/index.ts'

/** In place of the response, whose body says no more. */
export class SessionLost extends Error {
  /** What the caller hears, where the server answered the request with it; else the request was not begun. */
  readonly answer: RemoteError | undefined

  constructor(answer?: RemoteError) {
    super('The server does not know the session.')
    this.answer = answer
  }
}

/** With a session these say enough; else the words decide. */
const STATUSES: ReadonlySet<number> = new Set([404, 410])
/** Of these the words decide: `No valid session ID provided`, `Mcp-Session-Id header is required`, `Session expired`. */
const WORDED: ReadonlySet<number> = new Set([400, 401])
const WORDS =
  /session.{0,40}(?:not found|unknown|invalid|expired|missing|required|does not exist|terminated|closed)|(?:invalid|unknown|missing|expired|no(?: valid)?|without)(?: or \w+)?(?: mcp)?[ -]session|server not initialized/i
/** What a server of the session era says to a request of the stateless era. */
const OTHER_ERA = /unsupported protocol version/i
/** Such as `Bad Request: `. */
const PREFIX = /^[a-z ]{1,20}: /i
const MAX_CHARS = 4096

/** Throws `SessionLost` for such a response to a POST of HTTP+SSE, where the address itself names the session. */
export function lostSessionFetch(inner: FetchLike): FetchLike {
  return async (url, init) => {
    const response = await inner(url, init)
    if (init?.method !== 'POST' || !mayBeLost(response.status) || begins(init.body)) return response
    const { status } = response
    const lost = lostIn(await response.clone().text(), { status, hasSession: true, id: idOf(init.body) })
    if (lost === undefined) return response
    await response.body?.cancel()
    throw lost
  }
}

/**
 * Whether a server that was of the stateless era refuses a request as one of the session era does, which that server is now.
 * It has not answered the request itself.
 */
export function isOfSessionEra(status: number, text: string): boolean {
  return mayBeLost(status) && (WORDS.test(text) || OTHER_ERA.test(text))
}

export function mayBeLost(status: number): boolean {
  return STATUSES.has(status) || WORDED.has(status)
}

function begins(body: unknown): boolean {
  return typeof body === 'string' && body.slice(0, 200).includes('"method":"initialize"')
}

/** The id of a message; undefined where it has none. */
function idOf(body: unknown): unknown {
  const message = typeof body === 'string' ? parseJson(body) : undefined
  return isObject(message) ? message['id'] : undefined
}

export interface RefusedPost {
  readonly status: number
  readonly hasSession: boolean
  readonly id: unknown
}

/** Whether the refusal of a POST that begins no session says so. */
export function lostIn(text: string, { status, hasSession, id }: RefusedPost): SessionLost | undefined {
  const answer = answerIn(text, id)
  if (answer !== undefined) {
    const isLost = hasSession && WORDS.exec(answer.message.replace(PREFIX, ''))?.index === 0
    return isLost ? new SessionLost(answer) : undefined
  }
  const isLost = (hasSession && STATUSES.has(status)) || WORDS.test(text.slice(0, MAX_CHARS))
  return isLost ? new SessionLost() : undefined
}

/** The error that a server answers this request with. */
function answerIn(text: string, id: unknown): RemoteError | undefined {
  const message = parseJson(text)
  if (id === undefined || !isObject(message) || message['id'] !== id || !isObject(message['error'])) return undefined
  const { code, message: sentence, data } = message['error']
  return typeof code === 'number' && typeof sentence === 'string' ? new RemoteError(code, sentence, data) : undefined
}
