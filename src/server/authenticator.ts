import type { HeaderReader } from '../protocol/index.ts'

/** Who calls. `id` binds states and sessions, so it must be stable and unique. */
export interface Principal {
  readonly id: string
  readonly scopes?: readonly string[]
  readonly claims?: Readonly<Record<string, unknown>>
}

/** Tells who calls from the headers of a request; throws AuthError to turn it away. Undefined is an anonymous caller. */
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
  return typeof authenticator === 'function' ? authenticator : authenticator?.authenticate
}
