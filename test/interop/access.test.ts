/** Entries that are not for everyone, as the official clients of both eras see them. */
import { generateKeyPairSync } from 'node:crypto'
import {
  Client,
  extractWWWAuthenticateParams,
  InsufficientScopeError,
  type ProtocolError,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client'
import { UnauthorizedError } from '@modelcontextprotocol/sdk/client/auth.js'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { SignJWT } from 'jose'
import { bearer, createServer, type Server } from 'pannier/server'
import { describe, expect, onTestFinished, test } from 'vitest'
import { z } from 'zod'
import { Caller } from '../docs/fixtures/caller.ts'

const ISSUER = 'https://auth.example.com'
const RESOURCE = 'https://mcp.example.com/mcp'
const METADATA = 'https://mcp.example.com/.well-known/oauth-protected-resource/mcp'
const { privateKey, publicKey } = generateKeyPairSync('ed25519')
const silent = { debug() {}, info() {}, warn() {}, error() {} }

function token(sub: string, scope: string): Promise<string> {
  return new SignJWT({ scope })
    .setProtectedHeader({ alg: 'EdDSA' })
    .setIssuer(ISSUER)
    .setAudience(RESOURCE)
    .setSubject(sub)
    .setExpirationTime('1m')
    .sign(privateKey)
}

/** Files need a scope, the vault is for Ann alone. */
function archive(): Server {
  const principal = bearer({ issuer: ISSUER, audience: RESOURCE, key: publicKey, scopes: ['mcp'] })
  const server = createServer({ name: 'archive', version: '1.0.0', principal, logger: silent })
  const files = { scopes: ['files:read', 'files:list'] }
  const vault = { allow: (caller?: { subject?: string }) => caller?.subject === 'ann' }
  const topic = { input: z.object({ topic: z.string() }) }
  server.tool('ping_me', { description: 'For all.' }, () => 'pong')
  server.tool('read_file', { description: 'Reads.', ...files }, () => 'a file')
  server.tool('open_vault', { description: 'Opens.', ...vault }, () => 'gold')
  server.prompt('sum_up_file', { description: 'Sums up.', ...files, ...topic }, () => 'Sum it up.')
  server.prompt('describe_vault', { description: 'Describes.', ...vault, ...topic }, () => 'Describe it.')
  server.completion({ prompt: 'sum_up_file', argument: 'topic' }, () => ['a', 'b'])
  server.completion({ prompt: 'describe_vault', argument: 'topic' }, () => ['gold'])
  server.resource('file:///list', { name: 'list', ...files }, () => 'a, b')
  server.resource('vault:///list', { name: 'vault', ...vault }, () => 'gold')
  server.resourceTemplate('file:///{name}', { name: 'file', ...files }, () => 'a file')
  return server
}

const ERAS = [
  ['2026-07-28', 'auto'],
  ['2025-11-25', 'legacy'],
] as const

async function connect(server: Server, mode: 'auto' | 'legacy', who: string, scope: string): Promise<Client> {
  const client = new Client({ name: 'v2', version: '1' }, { versionNegotiation: { mode } })
  const authorization = `Bearer ${await token(who, scope)}`
  const transport = new StreamableHTTPClientTransport(new URL(RESOURCE), {
    fetch: (input, init) => server.fetch(new Request(input, init)),
    requestInit: { headers: { authorization } },
  })
  await client.connect(transport)
  onTestFinished(() => client.close())
  return client
}

async function seenBy(client: Client) {
  return {
    tools: (await client.listTools()).tools.map(({ name }) => name),
    prompts: (await client.listPrompts()).prompts.map(({ name }) => name),
    resources: (await client.listResources()).resources.map(({ name }) => name),
    templates: (await client.listResourceTemplates()).resourceTemplates.map(({ name }) => name),
  }
}

const complete = (client: Client, name: string) =>
  client.complete({ ref: { type: 'ref/prompt', name }, argument: { name: 'topic', value: '' } })

describe.each(ERAS)('a client of %s', (_, mode) => {
  test('sees what its token allows, and nothing else', async () => {
    const server = archive()
    const everything = {
      tools: ['ping_me', 'read_file', 'open_vault'],
      prompts: ['sum_up_file', 'describe_vault'],
      resources: ['list', 'vault'],
      templates: ['file'],
    }
    const nothing = { tools: ['ping_me'], prompts: [], resources: [], templates: [] }
    const files = {
      tools: ['ping_me', 'read_file'],
      prompts: ['sum_up_file'],
      resources: ['list'],
      templates: ['file'],
    }
    expect(await seenBy(await connect(server, mode, 'ann', 'mcp files:read files:list'))).toEqual(everything)
    expect(await seenBy(await connect(server, mode, 'bob', 'mcp'))).toEqual(nothing)
    expect(await seenBy(await connect(server, mode, 'bob', 'mcp files:read files:list'))).toEqual(files)
    expect((await seenBy(await connect(server, mode, 'bob', 'mcp files:read'))).tools).toEqual(['ping_me'])
  })

  test('is told which scopes a call needs, all at once', async () => {
    const client = await connect(archive(), mode, 'ann', 'mcp files:read')
    const refused = {
      requiredScope: 'mcp files:read files:list',
      resourceMetadataUrl: new URL(METADATA),
      errorDescription: 'This needs an access token with the scopes: files:read files:list.',
    }
    const calls = [
      () => client.callTool({ name: 'read_file' }),
      () => client.getPrompt({ name: 'sum_up_file', arguments: { topic: 'a' } }),
      () => client.readResource({ uri: 'file:///list' }),
      () => client.readResource({ uri: 'file:///a' }),
      () => complete(client, 'sum_up_file'),
      ...(mode === 'legacy' ? [() => client.subscribeResource({ uri: 'file:///list' })] : []),
    ]
    for (const call of calls) {
      const error: unknown = await call().catch((thrown: unknown) => thrown)
      expect(error).toBeInstanceOf(InsufficientScopeError)
      expect(error).toMatchObject(refused)
    }
  })

  test('cannot tell what is hidden by a rule from what does not exist', async () => {
    const client = await connect(archive(), mode, 'bob', 'mcp files:read files:list')
    const failed = (call: () => Promise<unknown>) =>
      call().then(
        () => 'answered',
        (error: unknown) => {
          const { code, message } = error as ProtocolError
          return { code, message: message.replace(/open_vault|no_tool|describe_vault|no_prompt/, 'X') }
        },
      )
    const topic = { topic: 'a' }
    const twins = [
      [() => client.callTool({ name: 'open_vault' }), () => client.callTool({ name: 'no_tool' })],
      [
        () => client.getPrompt({ name: 'describe_vault', arguments: topic }),
        () => client.getPrompt({ name: 'no_prompt', arguments: topic }),
      ],
      [() => client.readResource({ uri: 'vault:///list' }), () => client.readResource({ uri: 'vault:///none' })],
      [() => complete(client, 'describe_vault'), () => complete(client, 'no_prompt')],
    ] as const
    for (const [hidden, absent] of twins) {
      const reply = await failed(hidden)
      expect(reply).toEqual(await failed(absent))
      expect(reply).toMatchObject({ code: -32602 })
    }
  })

  test('calls what it may', async () => {
    const client = await connect(archive(), mode, 'ann', 'mcp files:read files:list')
    expect(await client.callTool({ name: 'read_file' })).toMatchObject({ content: [{ text: 'a file' }] })
    expect(await client.callTool({ name: 'open_vault' })).toMatchObject({ content: [{ text: 'gold' }] })
    expect(await client.readResource({ uri: 'file:///x' })).toMatchObject({ contents: [{ text: 'a file' }] })
    expect(await complete(client, 'describe_vault')).toMatchObject({ completion: { values: ['gold'] } })
  })
})

describe('a refused call', () => {
  test('is 403 with a challenge that the official client reads', async () => {
    const server = archive()
    const headers = { authorization: `Bearer ${await token('bob', 'mcp we"ird')}` }
    const reply = await new Caller(server.fetch, { headers, url: RESOURCE }).round('read_file')
    expect(reply.status).toBe(403)
    expect(reply.error).toMatchObject({ code: -32600, message: expect.stringContaining('files:read files:list') })
    expect(extractWWWAuthenticateParams(new Response('', { headers: reply.headers }))).toMatchObject({
      error: 'insufficient_scope',
      scope: 'mcp files:read files:list',
    })
  })
})

test('the v1 client asks its authorization server for the scopes it lacks and those it has', async () => {
  const server = archive()
  const access_token = await token('ann', 'mcp files:read photos')
  const asked: URL[] = []
  const authProvider = {
    redirectUrl: 'http://localhost/back',
    clientMetadata: { redirect_uris: ['http://localhost/back'] },
    clientInformation: () => ({ client_id: 'v1' }),
    tokens: () => ({ access_token, token_type: 'Bearer' }),
    saveTokens() {},
    saveCodeVerifier() {},
    codeVerifier: () => '',
    redirectToAuthorization: (url: URL) => void asked.push(url),
  }
  const issuer = {
    issuer: ISSUER,
    authorization_endpoint: `${ISSUER}/authorize`,
    token_endpoint: `${ISSUER}/token`,
    response_types_supported: ['code'],
    code_challenge_methods_supported: ['S256'],
  }
  const transport: unknown = new TransportV1(new URL(RESOURCE), {
    authProvider,
    fetch: async (input, init) =>
      `${String(input)}`.startsWith(ISSUER) ? Response.json(issuer) : server.fetch(new Request(input, init)),
  })
  const client = new ClientV1({ name: 'v1', version: '1' })
  await client.connect(transport as Transport)
  onTestFinished(() => client.close())
  await expect(client.callTool({ name: 'read_file' })).rejects.toBeInstanceOf(UnauthorizedError)
  expect(asked.map(({ searchParams }) => searchParams.get('scope'))).toEqual(['mcp files:read photos files:list'])
})

describe.each(ERAS)('a subscription of %s', (_, mode) => {
  test('tells nothing of a resource that its client may not read', async () => {
    const server = archive()
    const client = await connect(server, mode, 'bob', 'mcp files:read files:list')
    const told: string[] = []
    const last = Promise.withResolvers<void>()
    client.setNotificationHandler('notifications/resources/updated', ({ params: { uri } }) => {
      told.push(uri)
      if (uri === 'file:///last') last.resolve()
    })
    const uris = ['vault:///list', 'file:///list', 'file:///last']
    if (mode === 'legacy') for (const uri of uris) await client.subscribeResource({ uri })
    else await client.listen({ resourceSubscriptions: uris })
    for (const uri of uris) server.updated(uri)
    await last.promise
    expect(told).toEqual(['file:///list', 'file:///last'])
  })

  test('tells nothing of a tool that its client may not see, when it comes and when it goes', async () => {
    const server = archive()
    const told: string[] = []
    const follow = async (who: string) => {
      const last = Promise.withResolvers<void>()
      const client = await connect(server, mode, who, 'mcp')
      client.setNotificationHandler('notifications/tools/list_changed', () => void told.push(who))
      client.setNotificationHandler('notifications/prompts/list_changed', () => last.resolve())
      const listening = Promise.withResolvers<void>()
      client.setNotificationHandler('notifications/resources/list_changed', () => listening.resolve())
      const lists = { toolsListChanged: true, promptsListChanged: true, resourcesListChanged: true }
      if (mode !== 'legacy') await client.listen(lists)
      // A client of the session era opens its stream when it likes.
      const asking = setInterval(() => server.changed('resources'), 5)
      await listening.promise
      clearInterval(asking)
      return last
    }
    const followers = [await follow('ann'), await follow('bob')]
    const allow = (caller?: { subject?: string }) => caller?.subject === 'ann'
    server.tool('count_gold', { description: 'Counts.', allow }, () => '3')
    server.remove('tools', 'count_gold')
    server.changed('prompts')
    await Promise.all(followers.map(({ promise }) => promise))
    expect(told).toEqual(['ann', 'ann'])
  })
})
