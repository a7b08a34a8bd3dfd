/**
 * The header that names the task in a `tasks/…` request of the revision 2026-07-28, around `fetch`: the SDK's
 * transports do not know it, and let nobody else set it. Everything else passes untouched.
 */
import type { FetchLike } from '@modelcontextprotocol/client'
import { hasEnvelope, isObject, META, requestHeaders } from '../../protocol/index.ts'
import { metaIn } from '../layer/message.ts'

export function tasksFetch(inner: FetchLike = fetch): FetchLike {
  return (url, init) => {
    const body = init?.body
    const isAbout = typeof body === 'string' && body.includes('"tasks/')
    return isAbout ? inner(url, { ...init, headers: withName(init?.headers, body) }) : inner(url, init)
  }
}

function withName(given: RequestInit['headers'] | undefined, body: string): Headers {
  const headers = new Headers(given)
  const { method, params } = messageIn(body)
  if (typeof method !== 'string' || !method.startsWith('tasks/') || !isObject(params) || !hasEnvelope(params)) {
    return headers
  }
  const name = requestHeaders(method, params, String(metaIn(params)[META.version]))['mcp-name']
  if (name !== undefined) headers.set('mcp-name', name)
  return headers
}

function messageIn(body: string): Record<string, unknown> {
  try {
    const message: unknown = JSON.parse(body)
    return isObject(message) ? message : {}
  } catch {
    return {}
  }
}
