import type { HeaderReader } from '../../protocol/index.ts'

/** Who calls. `id` binds states and sessions, so it must be stable and unique. */
export interface Principal {
  readonly id: string
  readonly scopes?: readonly string[]
  readonly claims?: Readonly<Record<string, unknown>>
}

/**
 * Tells who calls from the headers of a request, by any spelling of their names; throws AuthError to turn it away.
 * Undefined is an anonymous caller.
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

/** A hook that forgets the id must not make its callers anonymous, or one and the same. */
function assertNamed(principal: Principal | null): void {
  if (typeof principal?.id === 'string' && principal.id !== '') return
  throw new TypeError('A principal needs an id: a text that is not empty. Give undefined for an anonymous caller.')
}
