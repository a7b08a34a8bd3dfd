/**
 * Admission: decisions by the headers of a request alone, before its body is read. In this order:
 *
 * - a document that is served beside the endpoint (the protected-resource metadata)
 * - Host and Origin: 403
 * - CORS: the preflight request of a browser, and the headers for a page of an allowed Origin
 * - a body that is too large by its Content-Length: 413
 * - who calls: 401, 403, 503
 * - the media types of a message: 415, 406
 *
 * The result is an Admission, or the reply to give instead. A refused request keeps its body unread.
 */
import { type Era, type HeaderReader, isLegacyVersion, MODERN_VERSION } from '../../protocol/index.ts'
import type { Authenticate } from '../auth/authenticator.ts'
import { tooLarge } from './body.ts'
import type { Admission, EndpointRequest, HttpReply, Sink } from './exchange.ts'
import { createHostGuard, type GuardOptions } from './hostGuard.ts'
import { refusal } from './refusal.ts'

/** Public documents beside the endpoint, by path. */
export type Documents = ReadonlyMap<string, string>

export interface AdmissionOptions extends GuardOptions {
  readonly documents: Documents
  readonly authenticate: Authenticate | undefined
  readonly maxBodyBytes: number
}

export type Admit = (request: EndpointRequest, sink: Sink) => Admission | HttpReply | Promise<Admission | HttpReply>

/** The promise rejects with the error of `authenticate`. */
export function createAdmission(options: AdmissionOptions): Admit {
  const { documents, authenticate, maxBodyBytes } = options
  const guard = createHostGuard(options)

  const refused = (request: EndpointRequest, sink: Sink): HttpReply | undefined => {
    const document = documents.size > 0 ? documentReply(documents, request) : undefined
    if (document !== undefined) return document
    const wrongSite = guard(request.header, request.loopback)
    if (wrongSite !== undefined) return refusal(403, wrongSite)
    const cors = corsHeaders(request.header)
    if (cors !== undefined) sink.setHeaders(cors)
    return request.method === 'POST' ? refusedBody(request, maxBodyBytes) : preflightReply(request)
  }

  return (request, sink) => {
    const reply = refused(request, sink)
    if (reply !== undefined) return reply
    if (authenticate === undefined) return admitted(request, undefined)
    return identified(request, authenticate)
  }
}

async function identified(request: EndpointRequest, authenticate: Authenticate): Promise<Admission | HttpReply> {
  return admitted(request, await authenticate(request))
}

function admitted({ method, header }: EndpointRequest, principal: Admission['principal']): Admission | HttpReply {
  const wrongMedia = method === 'POST' ? refusedMedia(header) : undefined
  return wrongMedia ?? { principal, era: eraByHeaders(header) }
}

/** The answer when a request is for a document; undefined when it is for the endpoint. */
function documentReply(documents: Documents, { method, path }: EndpointRequest): HttpReply | undefined {
  const body = documents.get(path)
  if (body === undefined) return undefined
  const headers = { 'access-control-allow-origin': '*' }
  if (method === 'GET') return { status: 200, body, headers }
  // Clients in a page announce their version in a header, and for that the browser sends a preflight request.
  if (method === 'OPTIONS') return { status: 204, headers: { ...headers, 'access-control-allow-headers': '*' } }
  return { status: 405, headers: { ...headers, allow: 'GET' } }
}

function refusedBody({ unreadable, declaredBytes }: EndpointRequest, maxBytes: number): HttpReply | undefined {
  if (unreadable !== undefined) return refusal(500, unreadable)
  return declaredBytes > maxBytes ? tooLarge(maxBytes) : undefined
}

function refusedMedia(header: HeaderReader): HttpReply | undefined {
  const type = header('content-type')
  if (type !== 'application/json' && !/^application\/json\s*(?:;|$)/i.test(type ?? '')) {
    return refusal(415, 'Send the message as application/json.')
  }
  const accept = header('accept')
  if (accept !== undefined && !/application\/json|text\/event-stream|application\/\*|\*\/\*/i.test(accept)) {
    return refusal(406, 'Accept application/json and text/event-stream.')
  }
  return undefined
}

/** A stateless request names its version in a header, a session its version or its id. `initialize` has neither. */
function eraByHeaders(header: HeaderReader): Era | undefined {
  const version = header('mcp-protocol-version')
  if (version === MODERN_VERSION) return 'modern'
  if (version === undefined) return header('mcp-session-id') === undefined ? undefined : 'legacy'
  return isLegacyVersion(version) ? 'legacy' : undefined
}

/** The CORS headers for a request whose Origin was allowed; undefined when no page is calling. */
function corsHeaders(header: HeaderReader): Readonly<Record<string, string>> | undefined {
  const origin = header('origin')
  if (origin === undefined) return undefined
  return {
    'access-control-allow-origin': origin,
    'access-control-expose-headers': 'mcp-session-id, www-authenticate, retry-after',
    vary: 'origin',
  }
}

/** The answer to a browser's preflight request, which comes before the call and brings no credentials. */
function preflightReply({ method, header }: Pick<EndpointRequest, 'method' | 'header'>): HttpReply | undefined {
  const wanted = header('access-control-request-method')
  if (method !== 'OPTIONS' || wanted === undefined) return undefined
  return {
    status: 204,
    headers: {
      'access-control-allow-methods': 'POST, GET, DELETE',
      // Parameter headers have names that tools choose, so every header that the page wants to send is allowed.
      'access-control-allow-headers': header('access-control-request-headers') ?? '*',
      'access-control-max-age': '600',
    },
  }
}
