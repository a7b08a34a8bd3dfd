import type { HeaderReader } from '../../protocol/index.ts'

/** Who calls. States and sessions are bound to `id`, so it must be stable and unique. */
export interface Principal {
  readonly id: string
  readonly scopes?: readonly string[]
  readonly claims?: Readonly<Record<string, unknown>>
}

/**
 * Tells who calls from the headers of a request. Header names may be in upper or lower case. Throws AuthError to refuse
 * the request; undefined is an anonymous caller.
 */
export type Authenticate = (request: {
  readonly header: HeaderReader
}) => Principal | undefined | Promise<Principal | undefined>

export interface ReadyAuthenticator {
  readonly authenticate: Authenticate
  /** The protected-resource metadata document (RFC 9728) and the path it is served at. */
  readonly metadata?: { readonly path: string; readonly document: object }
}

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
function assertNamed(principal: Principal | null): void {
  if (typeof principal?.id === 'string' && principal.id !== '') return
  throw new TypeError('A principal needs an id: a string that is not empty. Give undefined for an anonymous caller.')
}
