import { createSecretKey, generateKeyPairSync, type KeyObject } from 'node:crypto'
import { createServer as createHttpServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { discoverOAuthProtectedResourceMetadata, extractWWWAuthenticateParams } from '@modelcontextprotocol/client'
import { exportJWK, type JWTPayload, type SignOptions, SignJWT, UnsecuredJWT } from 'jose'
import { afterEach, describe, expect, test } from 'vitest'
import { Caller } from '../../../test/docs/fixtures/caller.ts'
import { type BearerOptions, bearer, createServer, type ServerOptions } from '../index.ts'

const ISSUER = 'https://auth.example.com'
const RESOURCE = 'https://mcp.example.com/mcp'
const METADATA = 'https://mcp.example.com/.well-known/oauth-protected-resource/mcp'

const rsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const otherRsa = generateKeyPairSync('rsa', { modulusLength: 2048 })
const p256 = generateKeyPairSync('ec', { namedCurve: 'P-256' })
const p384 = generateKeyPairSync('ec', { namedCurve: 'P-384' })
const ed25519 = generateKeyPairSync('ed25519')
const secret = createSecretKey(Buffer.alloc(32, 7))

interface Made {
  claims?: JWTPayload
  header?: Record<string, unknown>
  key?: KeyObject
  sign?: SignOptions
}

const now = () => Math.floor(Date.now() / 1000)

function sign({ claims = {}, header = {}, key = rsa.privateKey, sign: how }: Made = {}): Promise<string> {
  const whole = { iss: ISSUER, aud: RESOURCE, sub: 'ann', iat: now(), exp: now() + 60, ...claims }
  return new SignJWT(whole).setProtectedHeader({ alg: 'RS256', ...header }).sign(key, how)
}

function protect(options: Partial<BearerOptions> = {}, more: Partial<ServerOptions> = {}) {
  const key = options.jwks === undefined ? { key: rsa.publicKey } : {}
  const principal = bearer({ issuer: ISSUER, audience: RESOURCE, ...key, ...options })
  const server = createServer({ name: 'protected', version: '1.0.0', principal, ...more })
  server.tool('whoami', { description: 'Tells who calls' }, (_, ctx) => JSON.stringify(ctx.principal))
  return { server, principal }
}

/** What a caller with these headers gets. */
async function knock(door: (request: Request) => Promise<Response>, headers: Record<string, string> = {}) {
  const reply = await new Caller(door, { headers, url: RESOURCE }).send('tools/call', { name: 'whoami', arguments: {} })
  const text = reply.result?.content?.[0]?.text
  return {
    status: reply.status,
    challenge: reply.headers.get('www-authenticate'),
    error: reply.error,
    principal: text === undefined ? undefined : JSON.parse(text),
    reply,
  }
}

const withToken = (token: string) => ({ authorization: `Bearer ${token}` })

describe('a caller with a good token', () => {
  test('is known by issuer and subject together, with its scopes and claims', async () => {
    const { server } = protect()
    const token = await sign({ claims: { scope: 'read write', team: 'blue' } })
    const { status, principal } = await knock(server.fetch, withToken(token))
    expect(status).toBe(200)
    expect(principal).toMatchObject({
      id: `["${ISSUER}","ann"]`,
      subject: 'ann',
      issuer: ISSUER,
      scopes: ['read', 'write'],
      claims: { sub: 'ann', team: 'blue' },
    })
  })

  test.each([
    ['scope as a text', { scope: 'a b' }, ['a', 'b']],
    ['scp as a text', { scp: 'a b' }, ['a', 'b']],
    ['scp as a list', { scp: ['a', 'b'] }, ['a', 'b']],
    ['no scope at all', {}, []],
    ['a scope of another type', { scope: 7 }, []],
  ])('has the scopes of %s', async (_, claims, scopes) => {
    const { server } = protect()
    expect((await knock(server.fetch, withToken(await sign({ claims })))).principal.scopes).toEqual(scopes)
  })

  test.each(['Bearer', 'bearer', 'BEARER'])('may spell the scheme %s', async (scheme) => {
    const { server } = protect()
    expect((await knock(server.fetch, { authorization: `${scheme} ${await sign()}` })).status).toBe(200)
  })

  test.each([
    ['RSA', rsa, 'RS256'],
    ['RSA with PSS', rsa, 'PS384'],
    ['P-256', p256, 'ES256'],
    ['P-384', p384, 'ES384'],
    ['Ed25519', ed25519, 'EdDSA'],
    ['Ed25519 by its own name', ed25519, 'Ed25519'],
  ])('may have it signed with %s', async (_, pair, alg) => {
    const { server } = protect({ key: pair.publicKey })
    const token = await sign({ key: pair.privateKey, header: { alg } })
    expect((await knock(server.fetch, withToken(token))).status).toBe(200)
  })

  test('is served whatever form the key was given in', async () => {
    const pem = rsa.publicKey.export({ type: 'spki', format: 'pem' }).toString()
    for (const key of [pem, await exportJWK(rsa.publicKey)]) {
      const { server } = protect({ key })
      expect((await knock(server.fetch, withToken(await sign()))).status).toBe(200)
    }
  })

  test.each([
    ['RS256', rsa, { name: 'RSASSA-PKCS1-v1_5', hash: 'SHA-256' }],
    ['PS512', rsa, { name: 'RSA-PSS', hash: 'SHA-512' }],
    ['ES256', p256, { name: 'ECDSA', namedCurve: 'P-256' }],
    ['EdDSA', ed25519, { name: 'Ed25519' }],
  ])('is served with a CryptoKey for %s, and only with that algorithm', async (alg, pair, algorithm) => {
    const spki = pair.publicKey.export({ type: 'spki', format: 'der' })
    const { server } = protect({ key: await crypto.subtle.importKey('spki', spki, algorithm, false, ['verify']) })
    const token = await sign({ key: pair.privateKey, header: { alg } })
    expect((await knock(server.fetch, withToken(token))).status).toBe(200)
    expect((await knock(server.fetch, withToken(await sign({ header: { alg: 'RS384' } })))).status).toBe(401)
  })

  test('may name this server among several audiences', async () => {
    const { server } = protect({ audience: ['https://old.example.com', RESOURCE], resource: RESOURCE })
    const token = await sign({ claims: { aud: ['https://elsewhere.example.com', RESOURCE] } })
    expect((await knock(server.fetch, withToken(token))).status).toBe(200)
  })

  test('may be late or early by the tolerance', async () => {
    const { server } = protect({ clockToleranceSeconds: 30 })
    const late = await sign({ claims: { exp: now() - 20 } })
    const early = await sign({ claims: { nbf: now() + 20 } })
    expect((await knock(server.fetch, withToken(late))).status).toBe(200)
    expect((await knock(server.fetch, withToken(early))).status).toBe(200)
  })

  test('may share a secret with the server when its algorithm is named', async () => {
    const { server } = protect({ key: secret, algorithms: ['HS256'] })
    const token = await sign({ key: secret, header: { alg: 'HS256' } })
    expect((await knock(server.fetch, withToken(token))).status).toBe(200)
  })
})

describe('a caller without a token', () => {
  test.each([
    ['no header', {}],
    ['another scheme', { authorization: 'Basic YW5uOnNlY3JldA==' }],
    ['nothing after the scheme', { authorization: 'Bearer' }],
  ])('is told where to get one (%s)', async (_, headers: Record<string, string>) => {
    const { server } = protect({ scopes: ['files:read', 'files:write'] })
    const { status, challenge, error } = await knock(server.fetch, headers)
    expect(status).toBe(401)
    expect(challenge).toBe(`Bearer resource_metadata="${METADATA}", scope="files:read files:write"`)
    expect(error.message).toBe('Send an access token for this server in the Authorization header, as Bearer.')
  })
})

describe('a caller with a bad token', () => {
  const pem = rsa.publicKey.export({ type: 'spki', format: 'pem' })
  const cases: [string, () => string | Promise<string>, Partial<BearerOptions>?][] = [
    ['not a token', () => 'secret-and-nonsense'],
    ['two tokens', async () => `${await sign()} ${await sign()}`],
    ['signed by another key', () => sign({ key: otherRsa.privateKey })],
    ['of another kind of key', () => sign({ key: p256.privateKey, header: { alg: 'ES256' } })],
    ['unsigned', () => new UnsecuredJWT({ sub: 'ann' }).setIssuer(ISSUER).setAudience(RESOURCE).encode()],
    [
      'signed with the public key as a secret',
      () => sign({ key: createSecretKey(Buffer.from(pem)), header: { alg: 'HS256' } }),
    ],
    ['of another issuer', () => sign({ claims: { iss: 'https://evil.example.com' } })],
    ['of an issuer spelled otherwise', () => sign({ claims: { iss: `${ISSUER}/` } })],
    ['of no issuer', () => sign({ claims: { iss: undefined } as never })],
    ['for another audience', () => sign({ claims: { aud: 'https://other.example.com/mcp' } })],
    ['for no audience', () => sign({ claims: { aud: undefined } as never })],
    ['without subject', () => sign({ claims: { sub: undefined } as never })],
    ['with an empty subject', () => sign({ claims: { sub: '' } })],
    ['with a number as subject', () => sign({ claims: { sub: 7 as never } })],
    ['without an end', () => sign({ claims: { exp: undefined } as never })],
    ['not valid yet', () => sign({ claims: { nbf: now() + 60 } })],
    ['of another type', () => sign({ header: { typ: 'JWT' } }), { typ: 'at+jwt' }],
    ['with an algorithm that was left out', () => sign({ header: { alg: 'PS256' } }), { algorithms: ['RS256'] }],
    ['with a critical header nobody knows', () => sign({ header: { crit: ['x'], x: 1 }, sign: { crit: { x: true } } })],
  ]
  test.each(cases)('is refused, and told so without the token: %s', async (_, make, options = {}) => {
    const { server } = protect({ scopes: ['read'], ...options })
    const token = await make()
    const { status, challenge, error } = await knock(server.fetch, withToken(token))
    expect(status).toBe(401)
    expect(challenge).toMatch(/^Bearer error="invalid_token", error_description="The access token is not valid/)
    expect(challenge).toContain(`resource_metadata="${METADATA}", scope="read"`)
    expect(error.code).toBe(-32600)
    expect(`${challenge} ${error.message}`).not.toContain(token)
  })

  test('that has expired is told that', async () => {
    const { server } = protect()
    const { status, challenge } = await knock(server.fetch, withToken(await sign({ claims: { exp: now() - 20 } })))
    expect(status).toBe(401)
    expect(challenge).toContain(
      'error="invalid_token", error_description="The access token has expired; get a new one."',
    )
  })

  test('that is changed in any one character is refused', async () => {
    const { server } = protect()
    const token = await sign()
    for (let at = 0; at < token.length - 1; at += 7) {
      const changed = `${token.slice(0, at)}${token[at] === 'A' ? 'B' : 'A'}${token.slice(at + 1)}`
      expect((await knock(server.fetch, withToken(changed))).status, `changed at ${at}`).toBe(401)
    }
  })
})

describe('a caller with too few scopes', () => {
  test('is told all that are needed, at once', async () => {
    const { server } = protect({ scopes: ['read', 'write'] })
    const { status, challenge } = await knock(server.fetch, withToken(await sign({ claims: { scope: 'read extra' } })))
    expect(status).toBe(403)
    expect(challenge).toBe(
      'Bearer error="insufficient_scope", error_description="The access token lacks a scope; get one with: read write.", ' +
        `resource_metadata="${METADATA}", scope="read write"`,
    )
  })

  test('has no scope by a part of its name', async () => {
    const { server } = protect({ scopes: ['read'] })
    expect((await knock(server.fetch, withToken(await sign({ claims: { scope: 'readonly' } })))).status).toBe(403)
  })
})

describe('keys from an address', () => {
  const closing: (() => void)[] = []
  afterEach(() => {
    for (const close of closing.splice(0)) close()
  })

  /** An issuer's key set, and how often it was fetched. */
  async function issuer(answer: () => { status?: number; body: unknown } | undefined) {
    let fetched = 0
    const http = createHttpServer((_, res) => {
      fetched++
      const { status = 200, body } = answer() ?? { body: undefined }
      if (body === undefined) return // never answers
      res.writeHead(status, { 'content-type': 'application/json' }).end(JSON.stringify(body))
    })
    await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
    closing.push(() => http.close().closeAllConnections())
    return { jwks: `http://127.0.0.1:${(http.address() as AddressInfo).port}/jwks`, fetched: () => fetched }
  }

  const published = async (key: KeyObject, kid?: string) => ({ ...(await exportJWK(key)), ...(kid && { kid }) })

  test('are fetched once for many calls', async () => {
    const keys = { keys: [await published(rsa.publicKey, 'one')] }
    const { jwks, fetched } = await issuer(() => ({ body: keys }))
    const { server } = protect({ jwks })
    const token = await sign({ header: { kid: 'one' } })
    const statuses = await Promise.all(Array.from({ length: 5 }, () => knock(server.fetch, withToken(token))))
    expect(statuses.map(({ status }) => status)).toEqual([200, 200, 200, 200, 200])
    expect((await knock(server.fetch, withToken(token))).status).toBe(200)
    expect(fetched()).toBe(1)
  })

  test('are tried one after the other for a token that names none of them', async () => {
    const keys = { keys: [await published(otherRsa.publicKey, 'a'), await published(rsa.publicKey, 'b')] }
    const { jwks } = await issuer(() => ({ body: keys }))
    const { server } = protect({ jwks })
    expect((await knock(server.fetch, withToken(await sign()))).status).toBe(200)
    const third = generateKeyPairSync('rsa', { modulusLength: 2048 })
    expect((await knock(server.fetch, withToken(await sign({ key: third.privateKey })))).status).toBe(401)
  })

  test('of which none is named as in the token make it a bad token', async () => {
    const keys = { keys: [await published(rsa.publicKey, 'one')] }
    const { jwks } = await issuer(() => ({ body: keys }))
    const { server } = protect({ jwks })
    expect((await knock(server.fetch, withToken(await sign({ header: { kid: 'two' } })))).status).toBe(401)
  })

  const outages: [string, () => { status?: number; body: unknown }][] = [
    ['answers 500', () => ({ status: 500, body: {} })],
    ['answers something else', () => ({ body: { hello: 'world' } })],
    ['redirects', () => ({ status: 302, body: {} })],
  ]
  test.each(outages)('that cannot be had are our fault, not the caller’s: the issuer %s', async (_, answer) => {
    const lines: object[] = []
    const logger = { debug() {}, info() {}, warn() {}, error: (details: object) => lines.push(details) }
    const { jwks } = await issuer(answer)
    const { server } = protect({ jwks }, { logger })
    const token = await sign()
    const { status, challenge, error, reply } = await knock(server.fetch, withToken(token))
    expect(status).toBe(503)
    expect(challenge).toBeNull()
    expect(reply.headers.get('retry-after')).toBe('5')
    expect(error).toEqual({ code: -32603, message: 'Access tokens cannot be checked right now; try again later.' })
    expect(lines).toHaveLength(1)
    expect(lines[0]).toMatchObject({ code: 'AUTH_UNAVAILABLE', err: { message: expect.any(String) } })
    expect(JSON.stringify(lines)).not.toContain(token)
  })

  test('are had again as soon as the issuer is back', async () => {
    const keys = { keys: [await published(rsa.publicKey)] }
    let up = false
    const { jwks } = await issuer(() => (up ? { body: keys } : { status: 503, body: {} }))
    const { server } = protect({ jwks })
    const token = await sign()
    expect((await knock(server.fetch, withToken(token))).status).toBe(503)
    up = true
    expect((await knock(server.fetch, withToken(token))).status).toBe(200)
  })

  test('are not waited for by a caller who brings no token', async () => {
    const { server } = protect({ jwks: 'http://127.0.0.1:1/nobody' })
    expect((await knock(server.fetch)).status).toBe(401)
  })
})

test('a key set can be given as it is', async () => {
  const jwks = { keys: [await exportJWK(p256.publicKey), await exportJWK(rsa.publicKey)] }
  const { server } = protect({ jwks })
  expect((await knock(server.fetch, withToken(await sign()))).status).toBe(200)
})

describe('the metadata document', () => {
  const document = {
    resource: RESOURCE,
    authorization_servers: [ISSUER],
    bearer_methods_supported: ['header'],
    scopes_supported: ['read'],
    resource_name: 'The example',
  }
  const options = { scopes: ['read'], metadata: { resource_name: 'The example' } }

  test('is there as a plain object, with its path', () => {
    const { principal } = protect(options)
    expect(principal.metadata).toEqual({
      path: '/.well-known/oauth-protected-resource/mcp',
      url: METADATA,
      document,
    })
  })

  test('is served by fetch to anyone, pages of other origins included', async () => {
    const { server } = protect(options)
    const response = await server.fetch(new Request(METADATA, { headers: { origin: 'https://page.example.org' } }))
    expect(response.status).toBe(200)
    expect(response.headers.get('content-type')).toBe('application/json')
    expect(response.headers.get('access-control-allow-origin')).toBe('*')
    expect(await response.json()).toEqual(document)
  })

  test('is served by listen beside the endpoint, and nothing else is', async () => {
    const { server } = protect(options, { logger: { debug() {}, info() {}, warn() {}, error() {} } })
    const { url } = await server.listen()
    const at = (path: string, init?: RequestInit) => fetch(new URL(path, url), init)
    const found = await at('/.well-known/oauth-protected-resource/mcp?x=1')
    expect(await found.json()).toEqual(document)
    expect((await at('/.well-known/oauth-protected-resource/mcp', { method: 'POST' })).status).toBe(405)
    expect((await at('/.well-known/oauth-protected-resource/mcp', { method: 'OPTIONS' })).status).toBe(204)
    expect((await at('/.well-known/oauth-protected-resource')).status).toBe(404)
    expect((await at('/mcp', { method: 'POST' })).status).toBe(401)
    await server.drain()
  })

  test('is found by the official client, from the challenge and without it', async () => {
    const { server } = protect(options)
    const door = (input: string | URL, init?: RequestInit) => server.fetch(new Request(input, init))
    const refused = await door(RESOURCE, {
      method: 'POST',
      body: '{}',
      headers: { 'content-type': 'application/json' },
    })
    const { resourceMetadataUrl, scope } = extractWWWAuthenticateParams(refused)
    expect({ at: resourceMetadataUrl?.href, scope }).toEqual({ at: METADATA, scope: 'read' })
    const found = await discoverOAuthProtectedResourceMetadata(RESOURCE, { resourceMetadataUrl: METADATA }, door)
    expect(found).toEqual(await discoverOAuthProtectedResourceMetadata(RESOURCE, {}, door))
    expect(found).toMatchObject({ resource: RESOURCE, authorization_servers: [ISSUER] })
  })

  test.each([
    ['https://mcp.example.com', '', 'https://mcp.example.com'],
    ['https://mcp.example.com/', '', 'https://mcp.example.com'],
    ['https://MCP.Example.com:8443/a/b', '/a/b', 'https://mcp.example.com:8443/a/b'],
    ['https://mcp.example.com/mcp/', '/mcp/', 'https://mcp.example.com/mcp/'],
    ['http://localhost:3000/mcp', '/mcp', 'http://localhost:3000/mcp'],
  ])('of %s lies at the well-known path%s', (resource, suffix, canonical) => {
    const { principal } = protect({ resource })
    expect(principal.metadata.path).toBe(`/.well-known/oauth-protected-resource${suffix}`)
    expect(principal.metadata.document.resource).toBe(canonical)
  })
})

describe('bearer() refuses', () => {
  const whole = { issuer: ISSUER, audience: RESOURCE, key: rsa.publicKey }
  test.each<[string, Partial<Record<keyof BearerOptions, unknown>>, string]>([
    ['no issuer', { issuer: '' }, '"issuer"'],
    ['no audience', { audience: [] }, '"audience"'],
    ['neither keys nor key', { key: undefined }, 'either "jwks" or "key"'],
    ['both', { jwks: 'https://auth.example.com/jwks' }, 'either "jwks" or "key"'],
    ['keys over plain http', { key: undefined, jwks: 'http://auth.example.com/jwks' }, 'must be https'],
    ['a private key', { key: rsa.privateKey }, 'give it the public key'],
    ['a private JWK', { key: rsa.privateKey.export({ format: 'jwk' }) }, 'give it the public key'],
    ['a private PEM', { key: rsa.privateKey.export({ format: 'pem', type: 'pkcs8' }) }, 'give it the public key'],
    ['a short RSA key', { key: generateKeyPairSync('rsa', { modulusLength: 1024 }).publicKey }, '2048 bits'],
    ['a key for something else', { key: generateKeyPairSync('x25519').publicKey }, 'cannot verify tokens'],
    [
      'a key for RSA-PSS alone',
      { key: generateKeyPairSync('rsa-pss', { modulusLength: 2048 }).publicKey },
      'use RSA, P-256',
    ],
    ['a text that is no key', { key: 'hello' }, 'cannot be read'],
    ['a secret without its algorithm', { key: secret }, 'name its "algorithms"'],
    ['an algorithm that does not fit', { algorithms: ['ES256'] }, 'ES256 does not fit'],
    ['a shared secret’s algorithm for a public key', { algorithms: ['HS256'] }, 'HS256 does not fit'],
    ['no signature', { algorithms: ['none'] }, 'none does not fit'],
    [
      'a secret among public keys',
      { key: undefined, jwks: { keys: [] }, algorithms: ['HS256'] },
      'HS256 cannot be used',
    ],
    ['an address that is none', { audience: 'api://mcp' }, 'needs "resource"'],
    ['a resource with a fragment', { resource: `${RESOURCE}#x` }, 'fragment'],
    ['a resource that is no web address', { resource: 'file:///mcp' }, 'http or https'],
    ['a scope with a quote', { scopes: ['a"b'] }, 'is not a scope'],
    ['nobody to get tokens from', { authorizationServers: [] }, 'at least one authorization server'],
  ])('%s', (_, options, sentence) => {
    const given = Object.fromEntries(
      Object.entries({ ...whole, ...options }).filter(([, value]) => value !== undefined),
    )
    expect(() => bearer(given as unknown as BearerOptions)).toThrow(sentence)
  })
})
