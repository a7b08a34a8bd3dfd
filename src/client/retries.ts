/**
 * Repeats of a message that reached no server: the connection was refused or cut, or a balancer found no instance. Only
 * for messages that a server may get twice, because the first copy may have arrived.
 */
import { type FetchLike, SdkErrorCode, SdkHttpError } from '@modelcontextprotocol/client'
import { backoffMs, isObject } from '../protocol/index.ts'
import { ClientError } from './errors.ts'
import { failureReason } from './failureReason.ts'

/** The statuses of balancers that find no instance, and of servers that cannot work at the moment. */
export const NOBODY_THERE: ReadonlySet<unknown> = new Set([502, 503, 504])

/** About ten seconds in total, in which a process can restart. */
const MAX_MS = 10_000
const BACKOFF = { firstMs: 100, maxMs: 5_000 }

/** The pauses before one message is sent again. The time that the attempts take counts, too. */
export class Retries {
  readonly #startedAt = performance.now()
  #failures = 0

  /** The next pause, as long as the server wishes or a little longer; undefined when the time is over. */
  nextPauseMs(retryAfterMs = 0): number | undefined {
    if (performance.now() - this.#startedAt >= MAX_MS) return undefined
    return Math.max(backoffMs(++this.#failures, BACKOFF), Math.min(retryAfterMs, BACKOFF.maxMs))
  }
}

/** Whether a request failed because no server was there. */
export function reachedNobody(error: unknown): boolean {
  if (error instanceof ClientError && error.code !== 'STREAM_ENDED') return false
  const { status = versionOneStatus(error), why } = failureReason(error)
  return status === undefined ? why !== undefined : NOBODY_THERE.has(status)
}

/** The transport of the SDK's version 1 has the HTTP status as the code of its error. */
function versionOneStatus(error: unknown): number | undefined {
  const code = isObject(error) ? error['code'] : undefined
  return typeof code === 'number' && code >= 400 ? code : undefined
}

/** The wait of a Retry-After header, in seconds or as a date; 0 without the header. */
export function retryAfterMsOf({ headers }: Response): number {
  const value = headers.get('retry-after')
  if (value === null) return 0
  const ms = /^\s*\d+\s*$/.test(value) ? Number(value) * 1000 : Date.parse(value) - Date.now()
  return ms > 0 ? ms : 0
}

/** The wait in the error of a request that was sent through `retryAfterFetch`. */
export function retryAfterMsIn(error: unknown): number {
  const ms = error instanceof SdkHttpError && isObject(error.data) ? error.data['retryAfterMs'] : undefined
  return typeof ms === 'number' ? ms : 0
}

/** The SDK's errors lack the headers of the response. For a response that demands a wait, this throws one that has it. */
export function retryAfterFetch(inner: FetchLike): FetchLike {
  return async (url, init) => {
    const response = await inner(url, init)
    const { status, statusText } = response
    const retryAfterMs = init?.method === 'POST' && NOBODY_THERE.has(status) ? retryAfterMsOf(response) : 0
    if (retryAfterMs === 0) return response
    const data = { status, statusText, text: await response.text(), retryAfterMs }
    throw new SdkHttpError(SdkErrorCode.ClientHttpNotImplemented, `The server answered HTTP ${status}.`, data)
  }
}
