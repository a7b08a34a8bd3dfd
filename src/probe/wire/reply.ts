/** What came back to one request. Every way a server can answer, or not, has a name here; a server cannot throw. */
import { isObject, type Json } from '../../protocol/index.ts'

/** What is larger is no list of tools. */
export const MAX_ANSWER_BYTES = 4 * 1024 * 1024

/** What HTTP said around an answer. */
export interface HttpFacts {
  readonly status: number
  /** The session id that came along. A secret. */
  readonly session: string | undefined
  /** Whether it says how to authenticate. */
  readonly challenge: boolean
  /** The last id of an event in it, which a lost stream is resumed by. */
  readonly lastEventId?: string | undefined
}

export type Heard = { readonly http?: HttpFacts } & (
  | { readonly kind: 'result'; readonly result: Json }
  /** An error of JSON-RPC, whatever the HTTP status. Some servers leave out the code. */
  | { readonly kind: 'error'; readonly code: number | undefined; readonly message: string; readonly data: unknown }
  /** An HTTP status without JSON-RPC. */
  | { readonly kind: 'refused'; readonly status: number; readonly text: string }
  /** A redirect that is not followed. */
  | { readonly kind: 'redirected'; readonly to: string; readonly isElsewhere: boolean }
  | { readonly kind: 'silent'; readonly waitedMs: number }
  /**
   * No connection, or one that broke off; a process that ended. `why` is the end of a sentence, without its period.
   * `wasThere` where somebody heard the request, and may have gone because of it.
   */
  | { readonly kind: 'gone'; readonly why: string; readonly wasThere: boolean }
  /** Something came that is no answer. */
  | { readonly kind: 'unreadable'; readonly why: string }
  /** Nothing was sent: the probe may send no more. */
  | { readonly kind: 'unasked' }
)

export type HeardResult = Heard & { readonly kind: 'result' }

export function isResult(heard: Heard | undefined): heard is HeardResult {
  return heard?.kind === 'result'
}

/** Nobody is let in who does not say who they are, or they are let in nowhere. */
export function isWall(heard: Heard | undefined): boolean {
  const status = heard?.http?.status
  return status === 401 || status === 403
}

/** Too busy, or down for the moment: that says nothing about sessions. */
export function isPassing(heard: Heard): boolean {
  const status = heard.http?.status
  return status === 429 || status === 502 || status === 503 || status === 504
}

/** What the server says about why not, for the words in it. Pages for people are left out: they talk about anything. */
export function complaintOf(heard: Heard): string {
  switch (heard.kind) {
    case 'error':
      return typeof heard.data === 'string' ? `${heard.message} ${heard.data}` : heard.message
    case 'refused':
      return heard.text
    default:
      return ''
  }
}

/** As the end of a sentence that began with "It". */
export function heardText(heard: Heard): string {
  const status = heard.http === undefined ? '' : ` (HTTP ${heard.http.status})`
  switch (heard.kind) {
    case 'result':
      return 'answers'
    case 'error':
      return `answers with ${heard.code === undefined ? 'an error' : `error ${heard.code}`}${status}: "${heard.message}"`
    case 'refused':
      return `answers HTTP ${heard.status}${heard.text === '' ? '' : `: "${heard.text}"`}`
    case 'redirected':
      return `redirects to ${heard.to}${heard.isElsewhere ? ', which is another origin' : ''}; if that is right, give that address`
    case 'silent':
      return `says nothing for ${heard.waitedMs / 1000} s`
    case 'gone':
      return `gives no answer: ${heard.why}`
    case 'unreadable':
      return `says something that is no answer${status}: ${heard.why}`
    case 'unasked':
      return 'was not asked'
    default:
      return heard satisfies never
  }
}

/** Reads a parsed message as the answer to the request with this id; undefined where it is none. */
export function answerIn(value: unknown, id: number): Heard | undefined {
  const messages: readonly unknown[] = Array.isArray(value) ? value : [value] // a batch, as in 2025-03-26
  for (const message of messages) {
    const answer = isObject(message) ? oneAnswer(message, id) : undefined
    if (answer !== undefined) return answer
  }
  return undefined
}

function oneAnswer(message: Json, id: number): Heard | undefined {
  if ('method' in message) return undefined
  const { id: answers, result, error } = message
  const isOurs = answers === id || answers === String(id)
  // A request that could not be read is answered without its id.
  const mayBeOurs = isOurs || answers === null || answers === undefined
  if (isObject(error)) return mayBeOurs ? errorIn(error) : undefined
  if (typeof error === 'string') return mayBeOurs ? errorIn({ message: error }) : undefined
  return isObject(result) && isOurs ? { kind: 'result', result } : undefined
}

/** The same, with the words of the server made fit to be shown. */
export function worded(heard: Heard, shown: (text: string) => string): Heard {
  if (heard.kind !== 'error') return heard
  const { message, data } = heard
  return { ...heard, message: shown(message), data: typeof data === 'string' ? shown(data) : data }
}

/** The method of a request that the server makes. */
export function askedIn(value: unknown): string | undefined {
  return isObject(value) && typeof value['method'] === 'string' && 'id' in value ? value['method'] : undefined
}

function errorIn({ code, message, data }: Json): Heard {
  const text = typeof message === 'string' ? message : ''
  return { kind: 'error', code: typeof code === 'number' ? code : undefined, message: text, data }
}
