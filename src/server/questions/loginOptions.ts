import type { Principal } from '../auth/authenticator.ts'

/** How people log in at the page of a question that is for others than its caller. */
export interface LoginOptions {
  /** The issuer of the OpenID Connect provider, whose settings are at `/.well-known/openid-configuration` below it. */
  issuer: string
  /**
   * The id of this server as a client of the provider. Its redirect address is the endpoint's address with
   * `/question/login`.
   */
  clientId: string
  /** The secret of that client. @default none: a public client, which PKCE protects */
  clientSecret?: string
  /** The scopes to ask for. @default ['openid', 'profile'] */
  scopes?: readonly string[]
  /**
   * The principal by the claims of the ID token, or undefined for a person who may not log in here. @default the principal that
   * `bearer()` makes of a token of the same issuer
   */
  principal?: (claims: Readonly<Record<string, unknown>>) => Principal | undefined
  /** How long a login lasts, in seconds. @default 900 */
  sessionSeconds?: number
}
