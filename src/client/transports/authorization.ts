/**
 * Credentials for HTTP requests: a bearer token, or OAuth by the SDK. With OAuth, a 401, or a 403 that names missing
 * scopes, starts the SDK's authorization flow, and the request is sent again afterwards. So a call that needs a login or
 * more scopes does not fail. Requests that fail at the same time share one flow.
 */
import {
  auth,
  computeScopeUnion,
  extractWWWAuthenticateParams,
  type FetchLike,
  isStrictScopeSuperset,
  type OAuthClientProvider,
  UnauthorizedError,
  withDpopFromProvider,
} from '@modelcontextprotocol/client'
import { unlessAborted } from '../../protocol/index.ts'
import { ClientError } from '../errors.ts'
import { assertRemembered, authorizationFetch } from './authorizationAddress.ts'
import { plainLine } from '../safeText.ts'

/** An OAuth provider of the SDK that can also wait for the response of the authorization server. */
export interface Authorizer extends OAuthClientProvider {
  /**
   * Waits for the query that the authorization server sends to the redirect address. An authorizer that sent a `state`
   * compares it here. Not needed without a redirect, as with client credentials.
   */
  authorizationResponse?(): Promise<URLSearchParams>
  /**
   * Runs a flow under a lock on its tokens, and reads the tokens again before: a refresh token may be
   * used once only. Needed where several processes, or several authorizers of one process, share tokens.
   */
  exclusive?(flow: () => Promise<void>): Promise<void>
}

/** How many flows one request may start. */
const MAX_FLOWS = 2

/** A token, or a function that gives the current one. */
export type BearerToken = string | (() => string | Promise<string>)

/** Sends a bearer token with each request. */
export function bearerFetch(bearer: BearerToken, fetch: FetchLike): FetchLike {
  return async (url, init) => fetch(url, withToken(init, typeof bearer === 'string' ? bearer : await bearer()))
}

/**
 * Sends the authorizer's token with each request, and starts a flow where the server demands one. `flowFetch` makes the
 * requests of the flow, which go to other servers, too.
 */
export function authorizedFetch(
  authorizer: Authorizer,
  serverUrl: string,
  fetch: FetchLike,
  flowFetch: FetchLike = fetch,
): FetchLike {
  // A token that is bound to a key goes out with a proof of it in place of "Bearer" (RFC 9449).
  const send = authorizer.dpop === undefined ? fetch : withDpopFromProvider(authorizer)(fetch)

  const token = async (): Promise<string | undefined> => (await authorizer.tokens())?.access_token

  return async (url, init) => {
    for (let attempt = 0; ; attempt++) {
      const used = await token()
      const response = await send(url, withToken(init, used))
      const challenge = challengeOf(response)
      if (challenge === undefined) return response
      await response.body?.cancel()
      if (attempt === MAX_FLOWS)
        throw new UnauthorizedError(`The server still answers ${response.status} after a login.`)
      // Another request may have got a new token while this one was under way.
      if ((await token()) !== used && challenge.status === 401) continue
      const flow = async (): Promise<void> => {
        // So may another process while this one waited for its turn.
        if ((await token()) !== used && challenge.status === 401) return
        await authorize(authorizer, serverUrl, challenge, flowFetch)
      }
      const authorized = authorizedOnce(authorizer, () => authorizer.exclusive?.(flow) ?? flow())
      // A request that is cancelled does not wait any longer. The flow continues, for others.
      authorized.catch(() => {})
      await (init?.signal ? unlessAborted(init.signal, authorized) : authorized)
    }
  }
}

/** The flows under way. Connections with one authorizer share them: a refresh token may be used once only. */
const flows = new WeakMap<Authorizer, Promise<void>>()

function authorizedOnce(authorizer: Authorizer, start: () => Promise<void>): Promise<void> {
  const underWay = flows.get(authorizer)
  if (underWay !== undefined) return underWay
  const flow = start().finally(() => flows.delete(authorizer))
  flows.set(authorizer, flow)
  return flow
}

interface AuthChallenge {
  readonly status: 401 | 403
  readonly resourceMetadataUrl: URL | undefined
  readonly scope: string | undefined
}

function challengeOf(response: Response): AuthChallenge | undefined {
  const { status } = response
  if (status !== 401 && status !== 403) return undefined
  const { resourceMetadataUrl, scope, error } = extractWWWAuthenticateParams(response)
  return status === 403 && error !== 'insufficient_scope' ? undefined : { status, resourceMetadataUrl, scope }
}

async function authorize(
  authorizer: Authorizer,
  serverUrl: string,
  { status, resourceMetadataUrl, scope: asked }: AuthChallenge,
  fetch: FetchLike,
): Promise<void> {
  const granted = (await authorizer.tokens())?.scope
  const scope = status === 403 ? computeScopeUnion(granted, asked) : asked
  // The server may have changed its authorization server since the token was issued (SEP-2352).
  if (status === 401) await authorizer.invalidateCredentials?.('discovery')
  assertRemembered(await authorizer.discoveryState?.(), serverUrl)
  const flowFetch = authorizationFetch(serverUrl, fetch)
  const run = (more: { authorizationCode?: string; iss?: string; forceReauthorization?: boolean }) =>
    auth(authorizer, { ...options, ...more }).catch((error: unknown) => {
      throw flowFetch.refusal ?? error
    })
  const options = {
    serverUrl,
    fetchFn: flowFetch.fetch,
    ...(resourceMetadataUrl && { resourceMetadataUrl }),
    ...(scope !== undefined && { scope }),
  }
  // Refreshing cannot widen a scope (RFC 6749, section 6).
  const widens = status === 403 && isStrictScopeSuperset(scope, granted)
  if ((await run({ forceReauthorization: widens })) === 'AUTHORIZED') return
  if (flowFetch.refusal !== undefined) throw flowFetch.refusal
  const { code, iss } = await responseOf(authorizer)
  if ((await run({ authorizationCode: code, ...iss })) !== 'AUTHORIZED') {
    throw new UnauthorizedError('The authorization server gave no token for its code.')
  }
}

/** The text of an error response is not passed on: before the issuer is verified, anybody may have written it. */
async function responseOf(authorizer: Authorizer): Promise<{ code: string; iss: { iss?: string } }> {
  const query = await authorizer.authorizationResponse?.()
  const code = query?.get('code')
  if (!code) throw new UnauthorizedError('The login was refused or not completed.')
  const iss = query?.get('iss')
  return { code, iss: iss ? { iss } : {} }
}

function withToken(init: RequestInit | undefined, token: string | undefined): RequestInit {
  const headers = new Headers(init?.headers)
  if (token !== undefined) setHeader(headers, 'authorization', `Bearer ${token}`)
  return { ...init, headers }
}

/** Sets a header of the user. The runtime's own error for an invalid one would quote its value, which may be secret. */
export function setHeader(headers: Headers, name: string, value: string): void {
  try {
    headers.set(name, value)
  } catch {
    const sentence = `The header "${plainLine(name, 60)}" cannot be sent: it has a character that HTTP does not allow.`
    throw new ClientError('CONFIG_INVALID', sentence)
  }
}
