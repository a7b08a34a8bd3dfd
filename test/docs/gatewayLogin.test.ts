/** A login at each address of the guide's gateway, behind the guide's nginx, by clients of the official SDK. */
import { randomUUID } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { exportJWK, generateKeyPair, SignJWT } from 'jose'
import { parse } from 'jsonc-parser'
import { createGateway, gatewayConfigOf } from 'pannier/gateway'
import { createServer } from 'pannier/server'
import { expect, onTestFinished, test } from 'vitest'
import { freePort, startHttpHost } from '../fixtures/httpHost.ts'
import { hostUntil } from '../fixtures/until.ts'
import { KEYS, quiet } from '../interop/fixtures/instances.ts'
import { hasNginx, startNginx } from './fixtures/nginx.ts'

const CALLBACK = 'http://127.0.0.1:1/callback'

/** Gives tokens for the resource that a client names (RFC 8707); whoever comes is Ann. */
async function authorizationServer(): Promise<string> {
  const { publicKey, privateKey } = await generateKeyPair('ES256')
  const jwk = { ...(await exportJWK(publicKey)), alg: 'ES256' }
  const { origin } = await hostUntil((req, res) => void answer(req, res))
  const tokenFor = (resource: string): Promise<string> =>
    new SignJWT({ scope: 'mcp', email: 'ann@example.com' })
      .setProtectedHeader({ alg: 'ES256' })
      .setIssuer(origin)
      .setAudience(resource)
      .setSubject('ann')
      .setExpirationTime('5m')
      .sign(privateKey)
  const metadata = {
    issuer: origin,
    authorization_endpoint: `${origin}/authorize`,
    token_endpoint: `${origin}/token`,
    registration_endpoint: `${origin}/register`,
    response_types_supported: ['code'],
    code_challenge_methods_supported: ['S256'],
    token_endpoint_auth_methods_supported: ['none'],
  }

  async function answer(req: IncomingMessage, res: ServerResponse): Promise<void> {
    const body = await text(req)
    const json = (value: object): void =>
      void res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify(value))
    switch (new URL(req.url ?? '/', origin).pathname) {
      case '/keys':
        return json({ keys: [jwk] })
      case '/register':
        return json({ ...(JSON.parse(body) as object), client_id: 'me' })
      case '/token': {
        const resource = new URLSearchParams(body).get('resource') ?? ''
        return json({ access_token: await tokenFor(resource), token_type: 'Bearer', expires_in: 300 })
      }
      default:
        return json(metadata)
    }
  }

  return origin
}

/** The gateway of the guides on access and views, behind the nginx of the guide on production. Gives its address. */
async function protectedGateway(issuer: string): Promise<string> {
  const crm = createServer({ name: 'crm', version: '1.0.0', keys: KEYS, logger: quiet })
  crm.tool('find_customer', { description: 'Finds a customer.' }, () => 'Bob')
  const behind = await startHttpHost(crm.nodeHandler())
  onTestFinished(behind.close)
  const port = await freePort()
  const origin = await originOf(port)
  const written = readFileSync('examples/gateway/access.jsonc', 'utf8')
    .replace('https://login.example.com', issuer)
    .replace('https://mcp.example.com', origin)
  const { mcpServers, gateway: access } = parse(written) as { mcpServers: object; gateway: object }
  const { gateway: views } = parse(readFileSync('examples/gateway/views.jsonc', 'utf8')) as { gateway: object }
  const variables = { CRM_URL: behind.url, CRM_TOKEN: 'the-token-of-the-gateway', JWKS_URL: `${issuer}/keys` }
  Object.assign(process.env, variables)
  const folder = mkdtempSync(join(tmpdir(), 'pannier-login-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const config = await gatewayConfigOf({
    mcpServers,
    gateway: { ...access, ...views, pins: join(folder, 'pins.json') },
  })
  const gateway = createGateway({ ...config, keys: KEYS, logger: quiet })
  await gateway.listen({ port, drainOnTerm: false })
  onTestFinished(() => gateway.drain({ deadlineMs: 0 }))
  await gateway.tried()
  return origin
}

/** Where nginx is not installed, clients go to the gateway itself. */
async function originOf(port: number): Promise<string> {
  if (!hasNginx()) return `http://127.0.0.1:${port}`
  const nginx = readFileSync('examples/gateway/nginx.conf', 'utf8').replace('127.0.0.1:8931', `127.0.0.1:${port}`)
  return startNginx(nginx, (end) => onTestFinished(() => void end()))
}

/** What a client keeps of a login. */
function loginOf() {
  const kept: Record<string, unknown> = {}
  const asked = { resource: '' }
  const provider = {
    redirectUrl: CALLBACK,
    clientMetadata: { redirect_uris: [CALLBACK], client_name: 'a client', token_endpoint_auth_method: 'none' },
    state: () => randomUUID(),
    clientInformation: () => kept['client'],
    saveClientInformation: (client: unknown) => void (kept['client'] = client),
    tokens: () => kept['tokens'],
    saveTokens: (tokens: unknown) => void (kept['tokens'] = tokens),
    redirectToAuthorization: (url: URL) => void (asked.resource = url.searchParams.get('resource') ?? ''),
    saveCodeVerifier: (verifier: string) => void (kept['verifier'] = verifier),
    codeVerifier: () => kept['verifier'],
    saveDiscoveryState: (state: unknown) => void (kept['discovery'] = state),
    discoveryState: () => kept['discovery'],
  }
  return { asked, authProvider: provider as never }
}

const SDKS = {
  v1: {
    client: () => new ClientV1({ name: 'v1', version: '1' }),
    transport: (url: URL, authProvider: never) => new TransportV1(url, { authProvider }),
  },
  v2: {
    client: () => new Client({ name: 'v2', version: '1' }, { versionNegotiation: { mode: 'auto' } }),
    transport: (url: URL, authProvider: never) => new StreamableHTTPClientTransport(url, { authProvider }),
  },
}

test.each(['v1', 'v2'] as const)('the client %s logs in at each address, and gets a token for it', async (sdk) => {
  const origin = await protectedGateway(await authorizationServer())
  for (const path of ['/mcp', '/mcp/crm', '/views/support']) {
    const url = new URL(path, origin)
    const { asked, authProvider } = loginOf()
    const { client: newClient, transport } = SDKS[sdk]
    const first = transport(url, authProvider)
    await expect(newClient().connect(first as Transport)).rejects.toThrow('Unauthorized')
    expect(asked.resource).toBe(url.href)
    await first.finishAuth('a code')
    const client = newClient()
    await client.connect(transport(url, authProvider))
    onTestFinished(() => client.close())
    const [tool = expect.fail()] = (await client.listTools()).tools
    expect(await client.callTool({ name: tool.name, arguments: {} })).toMatchObject({ content: [{ text: 'Bob' }] })
  }
})
