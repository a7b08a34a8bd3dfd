/**
 * Bearer tokens of OAuth 2.1: a JWT of one issuer, for this server, with the scopes it needs. A caller without one gets
 * a challenge that says where to get it.
 */
import { assertOptionNames, onceEvery, type OptionNames } from '../../protocol/index.ts'
import { AuthError } from '../errors.ts'
import type { Principal, ReadyAuthenticator } from './authenticator.ts'
import { tokenVerifier, type TokenVerdict, type TokenVerifierOptions, type VerifyToken } from './jwt.ts'
import { isWebAddress, type ProtectedResource, protectedResource } from './protectedResource.ts'
import { assertScopes, scopesOf } from './scopes.ts'

export interface BearerOptions extends TokenVerifierOptions {
  /** The scopes every caller needs. @default none */
  scopes?: readonly string[]
  /** The address of the endpoint as clients know it. @default `audience`, if that is a single http or https address */
  resource?: string | URL
  /** Where clients get tokens. @default the issuer */
  authorizationServers?: readonly string[]
  /** More fields of the metadata document, such as `resource_name` or a wider `scopes_supported`. */
  metadata?: Readonly<Record<string, unknown>>
}

/** The result of `bearer()`, for the option `principal`. */
export interface BearerAuthenticator extends ReadyAuthenticator {
  /** `listen` and `fetch` serve it; a framework can, too. */
  readonly metadata: ProtectedResource
  /** The same for another endpoint of this server, with its own metadata: its tokens may also be for that address. */
  at(resource: string | URL): BearerAuthenticator
}

const BEARER_OPTIONS: OptionNames<BearerOptions> = {
  issuer: true,
  audience: true,
  jwks: true,
  key: true,
  algorithms: true,
  typ: true,
  clockToleranceSeconds: true,
  clock: true,
  scopes: true,
  resource: true,
  authorizationServers: true,
  metadata: true,
}

/** For `createServer({ principal: bearer({ … }) })`. */
export function bearer(options: BearerOptions): BearerAuthenticator {
  assertOptionNames(options, BEARER_OPTIONS, 'bearer()')
  const { issuer, scopes = [] } = options
  assertScopes(scopes)
  const rules = { verify: tokenVerifier(options), mayWarn: onceEvery(WARN_EVERY_MS, options.clock ?? Date.now), scopes }
  const at = (resource: string | URL, isOther: boolean): BearerAuthenticator => {
    const metadata = protectedResource({
      resource,
      authorizationServers: options.authorizationServers ?? [issuer],
      scopes,
      metadata: options.metadata ?? {},
    })
    const challenge = (more: Challenge = {}): string =>
      bearerChallenge({ scopes, ...more, resourceMetadata: metadata.url })
    // Every scope that the call needs, so that one new token is enough.
    const scopeChallenge = (needed: readonly string[], description: string): string =>
      challenge({ error: 'insufficient_scope', description, scopes: [...new Set([...scopes, ...needed])] })
    const audience = isOther ? metadata.document.resource : undefined
    return {
      authenticate: ({ header }) =>
        authenticate(tokenOf(header('authorization')), { ...rules, issuer, challenge, audience }),
      metadata,
      scopeChallenge,
      at: (other) => at(other, true),
    }
  }
  return at(resourceOf(options), false)
}

interface TokenRules {
  readonly verify: VerifyToken
  readonly issuer: string
  readonly scopes: readonly string[]
  /** Beside the audience of the options. */
  readonly audience: string | undefined
  readonly challenge: MakeChallenge
  readonly mayWarn: () => boolean
}

async function authenticate(token: string | undefined, rules: TokenRules): Promise<Principal> {
  const { verify, issuer, scopes, audience, challenge, mayWarn } = rules
  if (token === undefined) throw new AuthError('AUTH_MISSING', MISSING, { challenge: challenge() })
  const verdict = await verify(token, audience)
  switch (verdict.kind) {
    case 'valid':
      return allowed(principalOf(issuer, verdict), scopes, challenge)
    case 'expired':
    case 'invalid':
      throw refused(verdict, challenge, verdict.isForeign === true && mayWarn())
    case 'unknown':
      throw new AuthError('AUTH_UNAVAILABLE', UNAVAILABLE, { cause: verdict.cause })
    default:
      return verdict satisfies never
  }
}

/** A wrong audience is a mistake in the setup, and comes with every request. */
const WARN_EVERY_MS = 60_000
const MISSING = 'Send an access token for this server in the Authorization header, as Bearer.'
const INVALID = 'The access token is not valid for this server; get a new one from its authorization server.'
const EXPIRED = 'The access token has expired; get a new one.'
const UNAVAILABLE = 'Access tokens cannot be checked right now; try again later.'

type MakeChallenge = (more?: Challenge) => string

type RefusedToken = Extract<TokenVerdict, { readonly reason: string }>

function refused({ kind, reason }: RefusedToken, challenge: MakeChallenge, warns: boolean): AuthError {
  const sentence = kind === 'expired' ? EXPIRED : INVALID
  return new AuthError('AUTH_INVALID', sentence, {
    reason,
    warns,
    challenge: challenge({ error: 'invalid_token', description: sentence }),
  })
}

function allowed(principal: Principal, needed: readonly string[], challenge: MakeChallenge): Principal {
  if (needed.every((scope) => principal.scopes?.includes(scope))) return principal
  const sentence = `The access token lacks a scope; get one with: ${needed.join(' ')}.`
  throw new AuthError('AUTH_SCOPE', sentence, {
    challenge: challenge({ error: 'insufficient_scope', description: sentence }),
  })
}

/** The token after `Bearer`; undefined without credentials or with another kind. */
function tokenOf(authorization = ''): string | undefined {
  return /^Bearer(?: +(.*))?$/i.exec(authorization.trim())?.[1]
}

/** Two issuers may use the same subject, so the id has both. JSON keeps two different pairs from giving the same id. */
function principalOf(issuer: string, { subject, claims }: { subject: string; claims: Record<string, unknown> }) {
  return {
    id: JSON.stringify([issuer, subject]),
    subject,
    issuer,
    scopes: scopesOf(claims),
    claims,
  } satisfies Principal
}

function resourceOf({ resource, audience }: BearerOptions): string | URL {
  if (resource !== undefined) return resource
  if (typeof audience === 'string' && isWebAddress(audience)) return audience
  throw new TypeError('bearer() needs "resource", the address of the endpoint, because the audience is not one.')
}

/** The WWW-Authenticate header of a bearer-protected endpoint (RFC 6750 section 3, RFC 9728 section 5.1). */
export interface Challenge {
  /** Absent when the request had no token. */
  readonly error?: 'invalid_token' | 'insufficient_scope'
  readonly description?: string
  /** Every scope the request needs, so that one new token is enough. */
  readonly scopes?: readonly string[]
  /** The address of the protected-resource metadata. */
  readonly resourceMetadata?: string
}

/** The value of a WWW-Authenticate header, for an authenticator of your own. */
export function bearerChallenge({ error, description, scopes = [], resourceMetadata }: Challenge): string {
  const parts = [
    error && `error="${error}"`,
    description && `error_description="${quotable(description)}"`,
    resourceMetadata && `resource_metadata="${quotable(resourceMetadata)}"`,
    scopes.length > 0 && `scope="${scopes.join(' ')}"`,
  ].filter(Boolean)
  return parts.length === 0 ? 'Bearer' : `Bearer ${parts.join(', ')}`
}

function quotable(text: string): string {
  return text.replace(/[^\x20-\x7e]|["\\]/g, '')
}
