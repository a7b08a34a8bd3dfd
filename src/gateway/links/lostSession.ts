/**
 * Detects that a server has refused a request, before it started anything, because the session is unknown or missing.
 * The specification says 404 if a session was sent; many servers answer otherwise. An error with the request's id is
 * the answer to it, whatever its status: the call may have run, so it is never sent again.
 */
import type { FetchLike } from '@modelcontextprotocol/client'
import { isObject, parseJson, type RemoteError, remoteErrorIn } from '../../protocol/index.ts'

/** Thrown in place of the response. */
export class SessionLost extends Error {
  /** The error that the server returned for the request. Without it, the server has not started the request. */
  readonly answer: RemoteError | undefined

  constructor(answer?: RemoteError) {
    super('The server does not know the session.')
    this.answer = answer
  }
}

/** With a session these statuses are enough; otherwise the text decides. */
const STATUSES: ReadonlySet<number> = new Set([404, 410])
/**
 * With these statuses the text decides: `No valid session ID provided`, `Mcp-Session-Id header is required`, `Session
 * expired`.
 */
const WORDED: ReadonlySet<number> = new Set([400, 401])
const WORDS =
  /session.{0,40}(?:not found|unknown|invalid|expired|missing|required|does not exist|terminated|closed)|(?:invalid|unknown|missing|expired|no(?: valid)?|without)(?: or \w+)?(?: mcp)?[ -]session|server not initialized/i
/** The error of a session-era server for a stateless-era request. */
const OTHER_ERA = /unsupported protocol version/i
/** Such as `Bad Request: `. */
const PREFIX = /^[a-z ]{1,20}: /i
const MAX_CHARS = 4096

/** Throws `SessionLost` for such a response to a POST of HTTP+SSE, whose address names the session. */
export function lostSessionFetch(inner: FetchLike): FetchLike {
  return async (url, init) => {
    const response = await inner(url, init)
    if (init?.method !== 'POST' || !mayBeLost(response.status) || begins(init.body)) return response
    const { status } = response
    const text = await response.clone().text()
    const lost = lostIn(text, answerIn(parseJson(text), idOf(init.body)), { status, hasSession: true })
    if (lost === undefined) return response
    await response.body?.cancel()
    throw lost
  }
}

/**
 * Whether a formerly stateless-era server refuses a request as session-era servers do, because it has become one. It
 * has not answered the request itself.
 */
export function isOfSessionEra(status: number, text: string): boolean {
  const said = beginningOf(text)
  return mayBeLost(status) && (WORDS.test(said) || OTHER_ERA.test(said))
}

/** Searching longer texts takes long, and servers give the reason first. */
function beginningOf(text: string): string {
  return text.slice(0, MAX_CHARS)
}

export function mayBeLost(status: number): boolean {
  return STATUSES.has(status) || WORDED.has(status)
}

function begins(body: unknown): boolean {
  return typeof body === 'string' && body.slice(0, 200).includes('"method":"initialize"')
}

function idOf(body: unknown): unknown {
  const message = typeof body === 'string' ? parseJson(body) : undefined
  return isObject(message) ? message['id'] : undefined
}

export interface RefusedPost {
  readonly status: number
  readonly hasSession: boolean
}

/**
 * The lost session, if the refusal of a POST other than `initialize` shows one. `answer`: the server's error for the
 * request.
 */
export function lostIn(
  text: string,
  answer: RemoteError | undefined,
  { status, hasSession }: RefusedPost,
): SessionLost | undefined {
  if (answer !== undefined) {
    const isLost = hasSession && WORDS.exec(beginningOf(answer.message).replace(PREFIX, ''))?.index === 0
    return isLost ? new SessionLost(answer) : undefined
  }
  const isLost = (hasSession && STATUSES.has(status)) || WORDS.test(beginningOf(text))
  return isLost ? new SessionLost() : undefined
}

/** The error in a message that answers the request with this id. */
export function answerIn(message: unknown, id: unknown): RemoteError | undefined {
  return id !== undefined && isObject(message) && message['id'] === id ? remoteErrorIn(message['error']) : undefined
}
