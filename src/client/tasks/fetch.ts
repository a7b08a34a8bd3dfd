/**
 * Adds the header that names the task to `tasks/…` requests of the revision 2026-07-28. It wraps `fetch`, because the
 * SDK's transports do not know this header and have no way to set it. Everything else passes untouched.
 */
import type { FetchLike } from '@modelcontextprotocol/client'
import { hasEnvelope, isObject, META, requestHeaders } from '../../protocol/index.ts'
import { messageIn, metaIn } from '../layer/message.ts'

/** A `fetch` for the SDK's transport that names the task of a `tasks/…` request in its header. */
export function tasksFetch(inner: FetchLike = fetch): FetchLike {
  return (url, init) => {
    const body = init?.body
    const isTaskRequest = typeof body === 'string' && body.includes('"tasks/')
    return isTaskRequest ? inner(url, { ...init, headers: withName(init?.headers, body) }) : inner(url, init)
  }
}

function withName(given: RequestInit['headers'] | undefined, body: string): Headers {
  const headers = new Headers(given)
  const { method, params } = messageIn(body) ?? {}
  if (typeof method !== 'string' || !method.startsWith('tasks/') || !isObject(params) || !hasEnvelope(params)) {
    return headers
  }
  const name = requestHeaders(method, params, String(metaIn(params)[META.version]))['mcp-name']
  if (name !== undefined) headers.set('mcp-name', name)
  return headers
}
