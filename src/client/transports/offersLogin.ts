/** Whether a server that refuses a request for want of credentials says anywhere how to get some. */
import { discoverOAuthServerInfo, extractWWWAuthenticateParams, type FetchLike } from '@modelcontextprotocol/client'
import type { HttpAddress } from '../config/address.ts'
import { authorizationFetch } from './authorizationAddress.ts'
import { sameOrigin } from './http.ts'

export const NO_LOGIN = 'needs credentials and offers no login.'
export const NO_LOGIN_ADVICE = 'Give its entry an Authorization header.'

const LIMIT_MS = 5000
const PING = JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'ping' })
const FORMATS = { accept: 'application/json, text/event-stream', 'content-type': 'application/json' }

/**
 * False where the server answers 401, and there is neither OAuth metadata nor the page at which servers of 2025-03-26
 * may have their login. True where that is not known.
 */
export async function offersLogin({ url, headers }: Pick<HttpAddress, 'url' | 'headers'>): Promise<boolean> {
  const signal = AbortSignal.timeout(LIMIT_MS)
  const within = sameOrigin(fetch)
  const send: FetchLike = (to, init) => within(to, { ...init, signal })
  const { fetch: fetchNamed } = authorizationFetch(url, send)
  try {
    const refused = await send(url, { method: 'POST', headers: { ...headers, ...FORMATS }, body: PING })
    await refused.body?.cancel()
    if (refused.status !== 401 || extractWWWAuthenticateParams(refused).resourceMetadataUrl !== undefined) return true
    const { resourceMetadata, authorizationServerMetadata } = await discoverOAuthServerInfo(url, {
      fetchFn: fetchNamed,
    })
    return (resourceMetadata ?? authorizationServerMetadata) !== undefined || (await hasLoginPage(url, send))
  } catch {
    return true
  }
}

async function hasLoginPage(url: string, send: FetchLike): Promise<boolean> {
  const { status, body } = await send(new URL('/authorize', url), { redirect: 'manual' })
  await body?.cancel()
  return status <= 400 // without parameters, a login page may well complain
}
