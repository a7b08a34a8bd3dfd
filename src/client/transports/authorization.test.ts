import type { OAuthDiscoveryState, StoredOAuthClientInformation, StoredOAuthTokens } from '@modelcontextprotocol/client'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { type Authorizer, authorizedFetch } from './authorization.ts'

const SERVER = 'https://mcp.example.com/mcp'
const ISSUER = 'https://auth.example.com'

/** A resource and its authorization server, in one function. `accepts` says which scope a token must have. */
function world(accepts: (scope: string) => Response | undefined) {
  const asked: string[] = []
  const json = (value: object) => Response.json(value)
  const fetch = async (input: string | URL, init?: RequestInit): Promise<Response> => {
    const url = new URL(input)
    asked.push(`${init?.method ?? 'GET'} ${url.origin}${url.pathname}`)
    if (url.pathname.startsWith('/.well-known/oauth-protected-resource')) {
      return json({ resource: SERVER, authorization_servers: [ISSUER] })
    }
    if (url.pathname.startsWith('/.well-known/')) {
      return json({
        issuer: ISSUER,
        authorization_endpoint: `${ISSUER}/authorize`,
        token_endpoint: `${ISSUER}/token`,
        registration_endpoint: `${ISSUER}/register`,
        response_types_supported: ['code'],
        code_challenge_methods_supported: ['S256'],
        token_endpoint_auth_methods_supported: ['none'],
      })
    }
    if (url.pathname === '/register') return json({ client_id: 'me', redirect_uris: ['http://127.0.0.1/callback'] })
    if (url.pathname === '/token') {
      const code = new URLSearchParams(init?.body as URLSearchParams).get('code') ?? ''
      return json({ access_token: `token-${code}`, token_type: 'Bearer', scope: code })
    }
    const token = new Headers(init?.headers).get('authorization')?.replace('Bearer token-', '')
    const challenge = { 'www-authenticate': 'Bearer' }
    if (token === undefined) return new Response('', { status: 401, headers: challenge })
    return accepts(token) ?? new Response(`welcome with ${token}`)
  }
  return { asked, fetch }
}

/** The person who logs in gives what they are asked for: the scope comes back as the code. */
function person(behaviour: { refuses?: boolean } = {}) {
  let client: StoredOAuthClientInformation | undefined
  let tokens: StoredOAuthTokens | undefined
  let verifier = ''
  let discovery: OAuthDiscoveryState | undefined
  const visits: string[] = []
  const authorizer: Authorizer = {
    redirectUrl: 'http://127.0.0.1/callback',
    clientMetadata: { redirect_uris: ['http://127.0.0.1/callback'] },
    clientInformation: () => client,
    saveClientInformation: (saved) => void (client = saved),
    tokens: () => tokens,
    saveTokens: (saved) => void (tokens = saved),
    codeVerifier: () => verifier,
    saveCodeVerifier: (saved) => void (verifier = saved),
    discoveryState: () => discovery,
    saveDiscoveryState: (saved) => void (discovery = saved),
    redirectToAuthorization: (url) => void visits.push(url.searchParams.get('scope') ?? 'basic'),
    authorizationResponse: async () =>
      new URLSearchParams(behaviour.refuses ? { error: 'access_denied' } : { code: visits.at(-1) ?? '' }),
  }
  return { authorizer, visits }
}

const insufficient = (scope: string) =>
  new Response('', {
    status: 403,
    headers: { 'www-authenticate': `Bearer error="insufficient_scope", scope="${scope}"` },
  })

describe('a request that is refused', () => {
  test('for want of a token is sent again after a login', async () => {
    const { fetch, asked } = world(() => undefined)
    const { authorizer, visits } = person()
    const response = await authorizedFetch(authorizer, SERVER, fetch)(SERVER, { method: 'POST', body: '{}' })
    expect(await response.text()).toBe('welcome with basic')
    expect(visits).toHaveLength(1)
    expect(asked.filter((line) => line === `POST ${SERVER}`)).toHaveLength(2)
  })

  test('for want of a scope asks for it in addition, and once', async () => {
    const { fetch } = world((scope) => (scope.split(' ').includes('write') ? undefined : insufficient('write')))
    const { authorizer, visits } = person()
    const call = authorizedFetch(authorizer, SERVER, fetch)
    expect(await (await call(SERVER)).text()).toBe('welcome with basic write')
    expect(visits).toEqual(['basic', 'basic write'])
    expect(await (await call(SERVER)).text()).toBe('welcome with basic write')
    expect(visits).toHaveLength(2)
  })

  test('together with others starts one login for all', async () => {
    const { fetch } = world(() => undefined)
    const { authorizer, visits } = person()
    const call = authorizedFetch(authorizer, SERVER, fetch)
    const responses = await Promise.all([1, 2, 3, 4].map(() => call(SERVER)))
    expect(responses.map(({ status }) => status)).toEqual([200, 200, 200, 200])
    expect(visits).toHaveLength(1)
  })

  test('again and again ends with an error', async () => {
    const { fetch } = world(() => insufficient('more'))
    const { authorizer, visits } = person()
    await expect(authorizedFetch(authorizer, SERVER, fetch)(SERVER)).rejects.toThrow(/still answers 403/)
    expect(visits.length).toBeLessThanOrEqual(3)
  })

  test('with a login that the person refuses ends with an error that repeats nothing of the response', async () => {
    const { fetch } = world(() => undefined)
    const { authorizer } = person({ refuses: true })
    const refused = authorizedFetch(authorizer, SERVER, fetch)(SERVER)
    await expect(refused).rejects.toMatchObject({ name: 'UnauthorizedError' })
    await expect(refused).rejects.not.toThrow(/access_denied/)
  })

  test.each([200, 400, 404, 429, 500])('with a challenge, but with status %i, starts no login', async (status) => {
    const challenge = { 'www-authenticate': 'Bearer error="insufficient_scope", scope="write"' }
    const { fetch, asked } = world(() => new Response('as it is', { status, headers: challenge }))
    const { authorizer, visits } = person()
    const call = authorizedFetch(authorizer, SERVER, fetch)
    const response = await call(SERVER)
    expect([response.status, await response.text()]).toEqual([status, 'as it is'])
    expect(visits).toEqual(['basic'])
    expect(asked.filter((line) => line === `GET ${SERVER}`)).toHaveLength(2)
  })

  test('for another reason than scopes is not for us to mend', async () => {
    const { fetch } = world(() => new Response('', { status: 403 }))
    const { authorizer } = person()
    expect((await authorizedFetch(authorizer, SERVER, fetch)(SERVER)).status).toBe(403)
  })
})

test('a request that is cancelled during a login does not wait for it, and is not sent after it', async () => {
  const { fetch, asked } = world(() => undefined)
  const { authorizer } = person()
  const cancelled = new AbortController()
  const login = Promise.withResolvers<void>()
  const slow: Authorizer = { ...authorizer, exclusive: async (flow) => login.promise.then(flow) }
  const authorized = authorizedFetch(slow, SERVER, fetch)
  const sent = authorized(SERVER, { method: 'POST', signal: cancelled.signal })
  const other = authorized(SERVER, { method: 'POST' })
  const posts = (): number => asked.filter((line) => line === `POST ${SERVER}`).length
  await vi.waitFor(() => expect(posts()).toBe(2))
  cancelled.abort(new Error('Changed my mind.'))
  await expect(sent).rejects.toThrow('Changed my mind.')
  login.resolve()
  expect((await other).status).toBe(200)
  expect(posts()).toBe(3)
})

test('an authorization server that does not answer is given up, although the SDK would go on without it', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const { fetch } = world(() => undefined)
  const { authorizer, visits } = person()
  const hanging = (_: string | URL, init?: RequestInit): Promise<Response> =>
    new Promise((_resolve, reject) => {
      init?.signal?.addEventListener('abort', () => reject(init.signal?.reason as Error))
    })
  const sent = authorizedFetch(authorizer, SERVER, fetch, hanging)(SERVER, { method: 'POST' })
  const failed = sent.catch((error: unknown) => error)
  await vi.advanceTimersByTimeAsync(10_000)
  expect(await failed).toMatchObject({
    code: 'AUTHORIZATION_FAILED',
    message: 'The login at mcp.example.com did not answer within 10 seconds; try again later.',
  })
  expect(visits).toEqual([])
})

test('a refusal is let go of before somebody is asked to log in', async () => {
  const { fetch } = world(() => undefined)
  const { authorizer, visits } = person()
  let visitsThen: number | undefined
  const body = new ReadableStream({
    cancel: async () => {
      await new Promise((resolve) => setTimeout(resolve, 20))
      visitsThen = visits.length
    },
  })
  const refusing = async (input: string | URL, init?: RequestInit): Promise<Response> => {
    const response = await fetch(input, init)
    return response.status === 401 ? new Response(body, response) : response
  }
  expect((await authorizedFetch(authorizer, SERVER, refusing)(SERVER)).status).toBe(200)
  expect([visitsThen, visits.length]).toEqual([0, 1])
})
