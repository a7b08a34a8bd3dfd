/** What is served beside the endpoint, to everyone: the protected-resource metadata, by its path. */
import type { Reply } from './reply.ts'

export type Documents = ReadonlyMap<string, string>

/** The answer when a request is for a document; undefined when it is for the endpoint. */
export function documentReply(documents: Documents, method: string | undefined, path: string): Reply | undefined {
  const body = documents.get(path)
  if (body === undefined) return undefined
  const headers = { 'access-control-allow-origin': '*' }
  if (method === 'GET') return { status: 200, body, headers }
  // Clients in a page announce their version in a header, and for that the browser asks first.
  if (method === 'OPTIONS') return { status: 204, headers: { ...headers, 'access-control-allow-headers': '*' } }
  return { status: 405, headers: { ...headers, allow: 'GET' } }
}
