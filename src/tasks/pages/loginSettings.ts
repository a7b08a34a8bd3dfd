/** The settings of logins at the page of a question. */
import { assertOptionNames, type OptionNames } from '../../protocol/index.ts'
import type { LoginOptions, Principal } from '../../server/index.ts'

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
  if (principal === undefined || (typeof principal.id === 'string' && principal.id !== '')) return principal
  throw new TypeError('questions.login.principal gives a principal with an id: a string that is not empty.')
}

/** A day. */
const MAX_SESSION_SECONDS = 86_400

const LOCAL_HOSTS: ReadonlySet<string> = new Set(['localhost', '127.0.0.1', '[::1]'])

/** Without TLS, only a provider on this machine is safe. */
function isSafeIssuer(issuer: unknown): boolean {
  if (typeof issuer !== 'string' || !URL.canParse(issuer)) return false
  const { protocol, hostname } = new URL(issuer)
  return protocol === 'https:' || (protocol === 'http:' && LOCAL_HOSTS.has(hostname))
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
