/** How people log in at the page of a question that is for others than its caller. */
import { assertOptionNames, type OptionNames } from '../../protocol/index.ts'
import { assertNamed, type Principal } from '../auth/authenticator.ts'
import { isLocalHost } from '../localHost.ts'

export interface LoginOptions {
  /** The issuer of the OpenID Connect provider, whose settings are at `/.well-known/openid-configuration` below it. */
  issuer: string
  /** The id of this server as a client of the provider. Its redirect address is that of the endpoint with `/question/login`. */
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

const LOGIN_OPTIONS: OptionNames<LoginOptions> = {
  issuer: true,
  clientId: true,
  clientSecret: true,
  scopes: true,
  principal: true,
  sessionSeconds: true,
}

/** The options with their defaults. */
export type LoginSettings = Readonly<Required<Omit<LoginOptions, 'clientSecret'>> & Pick<LoginOptions, 'clientSecret'>>

export function loginSettings(options: LoginOptions): LoginSettings {
  assertOptionNames(options, LOGIN_OPTIONS, 'The option questions.login')
  const { issuer, clientId, scopes = ['openid', 'profile'], principal = principalOf, sessionSeconds = 900 } = options
  if (!isSafeIssuer(issuer))
    throw new TypeError('questions.login.issuer is the https address of an OpenID Connect provider.')
  if (typeof clientId !== 'string' || clientId === '')
    throw new TypeError('questions.login.clientId is the id that the provider has given to this server.')
  if (!Array.isArray(scopes) || !scopes.includes('openid'))
    throw new TypeError("questions.login.scopes is a list with 'openid'.")
  if (!(sessionSeconds > 0 && sessionSeconds <= MAX_SESSION_SECONDS))
    throw new TypeError(`questions.login.sessionSeconds is a number of seconds, at most ${MAX_SESSION_SECONDS}.`)
  return { ...options, scopes, sessionSeconds, principal: (claims) => named(principal(claims)) }
}

function named(principal: Principal | undefined): Principal | undefined {
  if (principal !== undefined) assertNamed(principal)
  return principal
}

/** A day. */
const MAX_SESSION_SECONDS = 86_400

/** Without TLS, only a provider on this machine is safe. */
function isSafeIssuer(issuer: unknown): boolean {
  if (typeof issuer !== 'string' || !URL.canParse(issuer)) return false
  const { protocol, hostname } = new URL(issuer)
  return protocol === 'https:' || (protocol === 'http:' && isLocalHost(hostname))
}

/** Claims that are about the token and not about the person. */
const OF_THE_TOKEN: ReadonlySet<string> = new Set(
  'iss aud exp iat nbf jti nonce at_hash c_hash s_hash auth_time azp acr amr sid'.split(' '),
)

/** Issuer and subject make the id, as with `bearer()`, so that a caller and an approver of one name are the same person. */
function principalOf(claims: Readonly<Record<string, unknown>>): Principal {
  const [issuer, subject] = [String(claims['iss']), String(claims['sub'])]
  const kept = Object.entries(claims).filter(([name]) => !OF_THE_TOKEN.has(name))
  return { id: JSON.stringify([issuer, subject]), subject, issuer, claims: Object.fromEntries(kept) }
}
