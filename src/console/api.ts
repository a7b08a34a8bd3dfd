/** Requests of the page. The cookie says who looks. */
import type { ConsoleVisitor } from '../gateway/internal.ts'

/** What the gateway refused, in its words. */
export class RefusedRequest extends Error {
  readonly status: number
  /** Whether it would be allowed after a login. */
  readonly hasLogin: boolean

  constructor(status: number, sentence: string, hasLogin = false) {
    super(sentence)
    this.status = status
    this.hasLogin = hasLogin
  }
}

const UNREACHED = 'The gateway does not answer. It is tried again.'

export async function request(path: string, init: RequestInit = {}): Promise<Response> {
  const response = await fetch(`/console/api/${path}`, init)
  if (response.ok) return response
  const body = (await response.json().catch(() => ({}))) as { readonly error?: unknown; readonly hasLogin?: unknown }
  const sentence = typeof body.error === 'string' ? body.error : `Status ${response.status}.`
  throw new RefusedRequest(response.status, sentence, body.hasLogin === true)
}

export async function me(): Promise<ConsoleVisitor> {
  return (await (await request('me')).json()) as ConsoleVisitor
}

/** Makes a change; gives its result. Throws RefusedRequest. */
export async function act(action: string, params: object): Promise<Readonly<Record<string, unknown>>> {
  const init = {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ action, params }),
  }
  return (await (await request('act', init)).json()) as Readonly<Record<string, unknown>>
}

export function sentenceOf(error: unknown): string {
  return error instanceof RefusedRequest ? error.message : UNREACHED
}
