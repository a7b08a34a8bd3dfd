import type { HeaderReader } from '../../protocol/index.ts'
import { shortened } from '../logger.ts'

/** Who calls. States and sessions are bound to `id`, so it must be stable and unique. */
export interface Principal {
  /** Stable and unique among all callers. */
  readonly id: string
  /** Who that is at the issuer: the `sub` of a token. */
  readonly subject?: string
  /** Who vouches for the subject: the `iss` of a token. */
  readonly issuer?: string
  /** The scopes that the caller has. */
  readonly scopes?: readonly string[]
  /** The claims of the caller's token. */
  readonly claims?: Readonly<Record<string, unknown>>
}

/** A principal in the log: subject and issuer, or else its id. */
export function principalDetails({ id, subject, issuer }: Principal): Readonly<Record<string, string>> {
  if (subject === undefined || issuer === undefined) return { principal: shortened(id) }
  return { principal: shortened(subject), issuer: shortened(issuer) }
}

/**
 * Tells who calls from the headers of a request. Header names may be in upper or lower case. Throws AuthError to refuse
 * the request; undefined is an anonymous caller.
 */
export type Authenticate = (request: {
  readonly header: HeaderReader
}) => Principal | undefined | Promise<Principal | undefined>

export type ScopeChallenge = (needed: readonly string[], description: string) => string

/** A hook with its metadata and challenge, such as the result of `bearer()`. */
export interface ReadyAuthenticator {
  readonly authenticate: Authenticate
  /** The protected-resource metadata document (RFC 9728) and the path it is served at. */
  readonly metadata?: { readonly path: string; readonly document: object }
  /** The WWW-Authenticate header for a caller who lacks scopes that a call needs. Without it, no challenge is sent. */
  readonly scopeChallenge?: ScopeChallenge
  /** The same for another endpoint of a gateway. Without it, all endpoints have one metadata document. */
  readonly at?: (resource: URL) => ReadyAuthenticator
}

/** Who may authenticate callers: a hook, or a ready one. */
export type Authenticator = Authenticate | ReadyAuthenticator

export function toAuthenticate(authenticator: Authenticator | undefined): Authenticate | undefined {
  const authenticate = typeof authenticator === 'function' ? authenticator : authenticator?.authenticate
  if (authenticate === undefined) return undefined
  return async ({ header }) => {
    const principal = await authenticate({ header: (name) => header(name.toLowerCase()) })
    if (principal !== undefined) assertNamed(principal)
    return principal
  }
}

/** Without this check, all callers of a hook that forgets the id would be anonymous, or the same caller. */
export function assertNamed(principal: Principal | null): void {
  if (typeof principal?.id === 'string' && principal.id !== '') return
  throw new TypeError('A principal needs an id: a string that is not empty. Give undefined for an anonymous caller.')
}

/** Documents served beside the endpoint, by path. */
export function documentsOf(authenticator: Authenticator | undefined): ReadonlyMap<string, string> {
  const metadata = typeof authenticator === 'object' ? authenticator.metadata : undefined
  return new Map(metadata === undefined ? [] : [[metadata.path, JSON.stringify(metadata.document)]])
}

export function scopeChallengeOf(authenticator: Authenticator | undefined): ScopeChallenge | undefined {
  return typeof authenticator === 'object' ? authenticator.scopeChallenge : undefined
}

/** An authenticator for the endpoint at `path`, beside the one at `ownPath` whose address its metadata has. */
export function authenticatorAt(authenticator: Authenticator, ownPath: string, path: string): Authenticator {
  if (typeof authenticator === 'function' || authenticator.at === undefined) return authenticator
  const { document } = authenticator.metadata ?? {}
  const resource = document !== undefined && 'resource' in document ? document.resource : undefined
  if (typeof resource !== 'string' || path === ownPath) return authenticator
  const own = new URL(resource)
  // A proxy may serve the gateway under a prefix. An address without the own path covers the whole host.
  if (!own.pathname.endsWith(ownPath)) return authenticator
  own.pathname = own.pathname.slice(0, -ownPath.length) + path
  return authenticator.at(own)
}
