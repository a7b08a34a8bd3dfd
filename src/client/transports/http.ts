/** The SDK's transports over HTTP, with headers and credentials, redirects within one origin, and a size limit. */
import { type FetchLike, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import type { HttpAddress } from '../config/address.ts'
import { authorizedFetch, type Authorizer, bearerFetch, type BearerToken, setHeader } from './authorization.ts'
import { boundedFetch, sameOrigin } from './boundedFetch.ts'
import { SseTransport } from './sse.ts'

export interface HttpOptions {
  headers?: Readonly<Record<string, string>>
  bearer?: BearerToken
  authorizer?: Authorizer
  /** A session to resume, and its negotiated revision. @default none */
  session?: { readonly id: string; readonly version: string | undefined }
  /** @default the global fetch */
  fetch?: FetchLike
  /** The largest message of the server, in bytes. @default 64 MB */
  maxBytes?: number | undefined
  /** Puts more around the `fetch` that the transport gets. It sees requests before they have credentials. */
  wrapFetch: (inner: FetchLike) => FetchLike
}

export function httpTransport({ url, headers }: HttpAddress, options: HttpOptions): StreamableHTTPClientTransport {
  const { id: sessionId, version: protocolVersion } = options.session ?? {}
  return new StreamableHTTPClientTransport(new URL(url), {
    fetch: fetchFor(url, options),
    requestInit: { headers: headersOf(headers, options.headers) },
    ...(sessionId !== undefined && { sessionId }),
    ...(protocolVersion !== undefined && { protocolVersion }),
  })
}

/** The transport of the revision 2024-11-05. */
export function sseTransport(
  { url, headers }: HttpAddress,
  options: HttpOptions & { readonly startTimeoutMs: number },
): SseTransport {
  return new SseTransport(new URL(url), {
    fetch: fetchFor(url, options),
    headers: headersOf(headers, options.headers),
    startTimeoutMs: options.startTimeoutMs,
  })
}

function fetchFor(url: string, options: HttpOptions): FetchLike {
  const within = sameOrigin(options.fetch ?? fetch)
  return options.wrapFetch(withCredentials(within, url, options))
}

/** Documents of a login have a lower limit than messages. */
function withCredentials(within: FetchLike, url: string, options: HttpOptions): FetchLike {
  const { authorizer, bearer, maxBytes } = options
  const limited = boundedFetch(within, maxBytes)
  if (authorizer !== undefined) return authorizedFetch(authorizer, url, limited, within)
  return bearer === undefined ? limited : bearerFetch(bearer, limited)
}

/** Later headers replace earlier ones of the same name, in any case of letters. */
export function headersOf(...given: readonly (Readonly<Record<string, string>> | undefined)[]): Headers {
  const headers = new Headers()
  for (const [name, value] of given.flatMap((each) => Object.entries(each ?? {}))) setHeader(headers, name, value)
  return headers
}
