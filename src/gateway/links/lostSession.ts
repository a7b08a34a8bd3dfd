/**
 * Whether a server has refused a request because it does not know its session, or wants one: before it began anything. The
 * specification says 404; many servers say it in other ways. An error of a tool comes with 200 and is none.
 */
import type { FetchLike } from '@modelcontextprotocol/client'

/** In place of the response, whose body says no more. */
export class SessionLost extends Error {}

const STATUSES: ReadonlySet<number> = new Set([404, 410])
/** Of these the words decide: `No valid session ID provided`, `Mcp-Session-Id header is required`, `Session expired`. */
const WORDED: ReadonlySet<number> = new Set([400, 401])
const WORDS =
  /session.{0,40}(?:not found|unknown|invalid|expired|missing|required|does not exist|terminated|closed)|(?:invalid|unknown|missing|expired|no(?: valid)?|without)(?: or \w+)?(?: mcp)?[ -]session|server not initialized/i
const MAX_CHARS = 4096

/** Throws `SessionLost` for such a response to a POST. What begins a session is passed on. */
export function lostSessionFetch(inner: FetchLike): FetchLike {
  return async (url, init) => {
    const response = await inner(url, init)
    if (init?.method !== 'POST' || begins(init.body) || !(await isLost(response))) return response
    await response.body?.cancel()
    throw new SessionLost('The server does not know the session.')
  }
}

function begins(body: unknown): boolean {
  return typeof body === 'string' && body.slice(0, 200).includes('"method":"initialize"')
}

async function isLost(response: Response): Promise<boolean> {
  const { status } = response
  if (STATUSES.has(status)) return true
  if (!WORDED.has(status)) return false
  const text = await response.clone().text()
  return WORDS.test(text.slice(0, MAX_CHARS))
}
