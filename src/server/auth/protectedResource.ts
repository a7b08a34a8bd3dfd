/** The protected-resource metadata document (RFC 9728): it names the issuers of tokens for this server. */

export interface ProtectedResourceOptions {
  /** The address of the endpoint as clients know it, such as `https://mcp.example.com/mcp`. */
  resource: string | URL
  /** The issuers a client can get a token from; at least one. */
  authorizationServers: readonly string[]
  /** The scopes a client should request first. @default left out */
  scopes?: readonly string[]
  /** More fields of RFC 9728, such as `resource_name` or `resource_documentation`. */
  metadata?: Readonly<Record<string, unknown>>
}

/** The metadata document of an endpoint, and its path. */
export interface ProtectedResource {
  /** The path the document is served at on the resource's own host. */
  readonly path: string
  /** The whole address, as challenges name it. */
  readonly url: string
  readonly document: ProtectedResourceDocument
}

export interface ProtectedResourceDocument {
  readonly resource: string
  readonly authorization_servers: readonly string[]
  readonly [field: string]: unknown
}

const WELL_KNOWN = '/.well-known/oauth-protected-resource'

/** The metadata document of an endpoint (RFC 9728), and the handler that serves it. */
export function protectedResource(options: ProtectedResourceOptions): ProtectedResource {
  const { authorizationServers, scopes = [], metadata } = options
  const resource = readResource(options.resource)
  if (authorizationServers.length === 0) {
    throw new TypeError('A protected resource names at least one authorization server.')
  }
  // RFC 9728, section 3.1: the well-known part goes between host and path, and a bare host has no path.
  const path = `${WELL_KNOWN}${resource.pathname === '/' ? '' : resource.pathname}`
  return {
    path,
    url: `${resource.origin}${path}${resource.search}`,
    document: {
      ...(scopes.length > 0 && { scopes_supported: scopes }),
      bearer_methods_supported: ['header'],
      ...metadata,
      resource: canonical(resource),
      authorization_servers: authorizationServers,
    },
  }
}

/** Whether a string is an http or https address, as a resource needs. */
export function isWebAddress(text: string): boolean {
  return URL.canParse(text) && /^https?:$/.test(new URL(text).protocol)
}

function readResource(resource: string | URL): URL {
  if (!isWebAddress(String(resource))) {
    throw new TypeError('"resource" is the http or https address clients reach the endpoint at.')
  }
  const url = new URL(resource)
  if (url.hash !== '') throw new TypeError('"resource" must not have a fragment (RFC 8707).')
  return url
}

/** Authorization, "Canonical Server URI": without the slash that URL puts after a bare host. */
function canonical(url: URL): string {
  return url.pathname === '/' && url.search === '' ? url.origin : url.href
}
