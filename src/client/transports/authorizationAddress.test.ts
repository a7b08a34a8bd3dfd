import type { OAuthDiscoveryState } from '@modelcontextprotocol/client'
import { describe, expect, test } from 'vitest'
import { type Authorizer, authorizedFetch } from './authorization.ts'

const SERVER = 'https://mcp.example.com/mcp'
const ISSUER = 'https://auth.example.com'

interface Named {
  readonly server?: string
  readonly resourceMetadata?: string
  readonly issuer?: string
  readonly endpoints?: Readonly<Record<string, unknown>>
  /** Of the authorization server's metadata. @default application/json */
  readonly type?: string
  readonly remembered?: OAuthDiscoveryState
}

const metadataOf = (issuer: string, endpoints: Readonly<Record<string, unknown>> = {}) => ({
  issuer,
  authorization_endpoint: `${issuer}/authorize`,
  token_endpoint: `${issuer}/token`,
  registration_endpoint: `${issuer}/register`,
  response_types_supported: ['code'],
  token_endpoint_auth_methods_supported: ['none'],
  ...endpoints,
})

/** A login where the server names these addresses: the hosts that were asked, who was asked to log in, and the end. */
async function login({ server = SERVER, resourceMetadata, issuer = ISSUER, endpoints, type, remembered }: Named) {
  const hosts = new Set<string>()
  const visits: string[] = []
  const fetch = async (input: string | URL, init?: RequestInit): Promise<Response> => {
    const { origin, pathname } = new URL(input)
    hosts.add(origin)
    if (pathname.startsWith('/.well-known/oauth-protected-resource'))
      return Response.json({ resource: server, authorization_servers: [issuer] })
    if (pathname.startsWith('/.well-known/'))
      return Response.json(metadataOf(issuer, endpoints), { headers: { 'content-type': type ?? 'application/json' } })
    if (pathname === '/register') return Response.json({ client_id: 'me', redirect_uris: ['http://127.0.0.1/back'] })
    if (pathname === '/token') return Response.json({ access_token: 'given', token_type: 'Bearer' })
    if (new Headers(init?.headers).has('authorization')) return new Response('welcome')
    const named = resourceMetadata === undefined ? '' : ` resource_metadata="${resourceMetadata}"`
    return new Response('', { status: 401, headers: { 'www-authenticate': `Bearer${named}` } })
  }
  const kept = new Map<string, unknown>([['discovery', remembered]])
  const authorizer = {
    redirectUrl: 'http://127.0.0.1/back',
    clientMetadata: { redirect_uris: ['http://127.0.0.1/back'] },
    clientInformation: () => kept.get('client'),
    saveClientInformation: (client: unknown) => void kept.set('client', client),
    tokens: () => kept.get('tokens'),
    saveTokens: (tokens: unknown) => void kept.set('tokens', tokens),
    codeVerifier: () => kept.get('verifier'),
    saveCodeVerifier: (verifier: unknown) => void kept.set('verifier', verifier),
    discoveryState: () => kept.get('discovery'),
    saveDiscoveryState: (state: unknown) => void kept.set('discovery', state),
    redirectToAuthorization: (url: URL) => void visits.push(url.origin),
    authorizationResponse: async () => new URLSearchParams({ code: 'c' }),
  } as Authorizer
  const end = await authorizedFetch(
    authorizer,
    server,
    fetch,
  )(server, { method: 'POST' }).then(
    (response) => response.text(),
    (error: unknown) => error,
  )
  return { hosts: [...hosts], visits, end }
}

describe('a server elsewhere cannot make a login use', () => {
  test.each<[string, Named]>([
    ['metadata of the computer', { resourceMetadata: 'http://127.0.0.1:8080/.well-known/oauth-protected-resource' }],
    ['metadata of the cloud', { resourceMetadata: 'http://169.254.169.254/.well-known/oauth-protected-resource' }],
    ['metadata without TLS', { resourceMetadata: 'http://meta.example.com/.well-known/oauth-protected-resource' }],
    ['an authorization server in the network', { issuer: 'https://10.0.0.8' }],
    ['an authorization server by its short name', { issuer: 'https://router' }],
    ['an authorization server of the house', { issuer: 'https://printer.local' }],
    ['an authorization server without TLS', { issuer: 'http://auth.example.com' }],
    ['a page without TLS', { endpoints: { authorization_endpoint: 'http://auth.example.com/authorize' } }],
    ['a page that is a script', { endpoints: { authorization_endpoint: 'javascript:alert(1)' } }],
    ['registration on the computer', { endpoints: { registration_endpoint: 'https://[::1]:9443/register' } }],
    ['registration at another spelling', { endpoints: { registration_endpoint: 'https://0x7f.1/register' } }],
    ['registration at a mapped address', { endpoints: { registration_endpoint: 'https://[::ffff:10.0.0.1]/r' } }],
    ['tokens without TLS', { endpoints: { token_endpoint: 'http://auth.example.com/token' } }],
    ['tokens in the network', { endpoints: { token_endpoint: 'https://192.168.1.1/token' } }],
    ['tokens at a local name with two dots', { endpoints: { token_endpoint: 'https://localhost../token' } }],
    ['tokens of the cluster', { endpoints: { token_endpoint: 'https://kubernetes.default.svc/token' } }],
    ['tokens at a name of the domain', { endpoints: { token_endpoint: 'https://router.localdomain/token' } }],
    ['tokens at a local name', { endpoints: { token_endpoint: 'https://localhost./token' } }],
    [
      'a page in the network, in metadata that nests deep',
      {
        type: 'text/plain',
        endpoints: {
          authorization_endpoint: 'https://10.0.0.8/authorize',
          x: JSON.parse('['.repeat(200) + ']'.repeat(200)),
        },
      },
    ],
    ['the computer, from the network', { server: 'https://10.0.0.8/mcp', issuer: 'http://127.0.0.1:4000' }],
    [
      'what was remembered before',
      {
        remembered: {
          authorizationServerUrl: ISSUER,
          authorizationServerMetadata: metadataOf(ISSUER, { token_endpoint: 'https://172.16.0.1/token' }),
        },
      },
    ],
  ])('%s, and nobody is asked', async (_, named) => {
    const { hosts, visits, end } = await login(named)
    expect(end).toMatchObject({ code: 'AUTHORIZATION_FAILED', message: expect.stringMatching(/wants a login to use/) })
    expect(visits).toEqual([])
    for (const host of hosts) expect([new URL(named.server ?? SERVER).origin, ISSUER]).toContain(host)
  })
})

test.each<[string, Named]>([
  ['https addresses', {}],
  ['another host for metadata', { resourceMetadata: 'https://meta.example.com/.well-known/oauth-protected-resource' }],
  ['local addresses of a local server', { server: 'http://127.0.0.1:3000/mcp', issuer: 'http://localhost:4000' }],
  ['private addresses of a private server', { server: 'http://kitchen:3000/mcp', issuer: 'https://10.0.0.8' }],
  ['https addresses of a local server', { server: 'http://[::1]:3000/mcp' }],
])('a login uses %s', async (_, named) => {
  const { visits, end } = await login(named)
  expect(end).toBe('welcome')
  expect(visits).toHaveLength(1)
})

/** The first and the last address of each network that is not the internet, and those beside them. */
test.each<[inside: string[], outside: string[]]>([
  [['0.0.0.0', '0.255.255.255'], ['1.0.0.0']],
  [
    ['10.0.0.0', '10.255.255.255'],
    ['9.255.255.255', '11.0.0.0'],
  ],
  [
    ['100.64.0.0', '100.127.255.255'],
    ['100.63.255.255', '100.128.0.0'],
  ],
  [['127.0.0.0', '127.255.255.255'], ['128.0.0.0']],
  [
    ['169.254.0.0', '169.254.255.255'],
    ['169.253.255.255', '169.255.0.0'],
  ],
  [
    ['172.16.0.0', '172.31.255.255'],
    ['172.15.255.255', '172.32.0.0'],
  ],
  [
    ['192.0.0.0', '192.0.0.255'],
    ['191.255.255.255', '192.0.1.0'],
  ],
  [
    ['192.168.0.0', '192.168.255.255'],
    ['192.167.255.255', '192.169.0.0'],
  ],
  [
    ['198.18.0.0', '198.19.255.255'],
    ['198.17.255.255', '198.20.0.0'],
  ],
  [['224.0.0.0', '255.255.255.255'], ['223.255.255.255']],
  [['[::]', '[::7f00:1]', '[::ffff:ffff]'], ['[::1:0:0]']],
  [
    ['[::ffff:0:0:0]', '[::ffff:0:7f00:1]'],
    ['[::fffe:0:0:0]', '[::ffff:1:0:0]'],
  ],
  [['[2001::]', '[2001:0:ffff::]'], ['[2001:1::]']],
  [['[2002::]', '[2002:7f00:1::]', '[2002:ffff::]'], ['[2003::]']],
  [['[64:ff9b::]', '[64:ff9b::ffff:ffff]'], ['[64:ff9b::1:0:0]']],
  [['[64:ff9b:1::]', '[64:ff9b:1:ffff:ffff:ffff:ffff:ffff]'], ['[64:ff9b:2::]']],
  [['[fc00::]', '[fdff:ffff::]'], ['[fbff:ffff::]']],
  [['[fe80::]', '[febf:ffff::]'], ['[fe7f:ffff::]']],
  [['[fec0::]', '[feff:ffff::]'], ['[2600::1]']],
  [['[ff00::]', '[ffff:ffff::]'], ['[2001:db8::1]']],
])('a server elsewhere cannot name %j, and can name %j', async (inside, outside) => {
  for (const host of inside) {
    expect([host, (await login({ issuer: `https://${host}` })).end]).toMatchObject([
      host,
      { code: 'AUTHORIZATION_FAILED' },
    ])
  }
  for (const host of outside)
    expect([host, (await login({ issuer: `https://${host}` })).end]).toEqual([host, 'welcome'])
})
