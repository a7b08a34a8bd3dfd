/** Lists of servers that are sent credentials of callers: each caller sees what the server lists to them. */
import type { CredentialsHook } from 'pannier/gateway'
import { AuthError, createServer } from 'pannier/server'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { KEYS, quiet } from '../interop/fixtures/instances.ts'
import {
  type AnyClient,
  call,
  type ClientKind,
  CLIENTS,
  connectClient,
  sessionServer,
  startGateway,
  stdioEntry,
} from './fixtures/gateways.ts'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { json, result, ScriptedServer } from './fixtures/statelessServers.ts'
import { ask } from './fixtures/statelessRequest.ts'

const principal = ({ header }: { header: (name: string) => string | undefined }) => ({
  id: header('x-user') ?? 'nobody',
})
const inHeader = (name: string): string => `=?base64?${Buffer.from(name).toString('base64')}?=`
const OWN = { headers: { 'x-caller': '${principal.id}' } }

/** A server of the stateless era that lists to each caller what is theirs. */
async function modernLists(users: readonly string[]) {
  const server = createServer({
    name: 'lists',
    version: '1',
    keys: KEYS,
    logger: quiet,
    principal: ({ header }) => ({ id: header('x-caller') ?? header('authorization') ?? 'nobody' }),
  })
  const add = (user: string): void => {
    const only = { allow: (caller: { id: string } | undefined) => caller?.id === user }
    server.tool(`of_${user}`, { description: user, ...only }, () => `for ${user}`)
    server.prompt(`hail_${user}`, { description: user, ...only }, () => `Hail ${user}`)
    server.resource(`of://${user}`, { name: user, ...only }, () => `about ${user}`)
  }
  for (const user of users) add(user)
  server.tool('all', { description: 'For all.' }, () => 'for all')
  const { url } = await server.listen({ drainOnTerm: false })
  onTestFinished(() => server.drain({ deadlineMs: 0 }))
  return { url, add }
}

/** The same in the session era; each session has the tools of who began it. */
async function sessionLists() {
  let caller = ''
  const create = (): McpServer => {
    const server = new McpServer({ name: 'lists', version: '1' })
    const user = caller || 'nobody'
    server.registerTool(`of_${user}`, { description: user }, () => ({
      content: [{ type: 'text', text: `for ${user}` }],
    }))
    return server
  }
  const { url } = await sessionServer(undefined, create, ({ headers }) => {
    caller = String(headers['x-caller'] ?? '')
  })
  return url
}

async function namesOf(client: AnyClient): Promise<readonly string[]> {
  return (await client.listTools()).tools.map(({ name }) => name)
}

const annAndBob = (kind: ClientKind, url: string) =>
  Promise.all([connectClient(kind, url, { 'x-user': 'ann' }), connectClient(kind, url, { 'x-user': 'bob' })])

describe.each(CLIENTS)('the client %s', (kind) => {
  test('is listed what servers of both eras list to its caller, at /mcp and at /mcp/NAME, and can call it', async () => {
    const { url: modern } = await modernLists(['ann', 'bob'])
    const servers = {
      modern: { url: modern, ...OWN },
      session: { url: await sessionLists(), ...OWN },
      other: stdioEntry(),
    }
    const { url } = await startGateway(servers, { principal })
    const [ann, bob] = await annAndBob(kind, url)
    const [anns, bobs] = [await namesOf(ann), await namesOf(bob)]
    expect(anns.slice(0, 4)).toEqual(['modern_of_ann', 'modern_all', 'session_of_ann', 'other_add'])
    expect(bobs.slice(0, 4)).toEqual(['modern_of_bob', 'modern_all', 'session_of_bob', 'other_add'])
    expect(await call(ann, 'modern_of_ann')).toBe('for ann')
    expect(await call(bob, 'session_of_bob')).toBe('for bob')
    await expect(call(bob, 'modern_of_ann')).rejects.toThrow()
    for (const name of ['modern', 'session']) {
      const [annAlone, bobAlone] = await annAndBob(kind, `${url}/${name}`)
      expect(await namesOf(annAlone)).toContain('of_ann')
      expect(await namesOf(bobAlone)).not.toContain('of_ann')
      expect(await call(bobAlone, 'of_bob')).toBe('for bob')
    }
  })
})

test('prompts, resources, views and searches are those of the caller, too', async () => {
  const { url: modern } = await modernLists(['ann', 'bob'])
  const views = { some: { tools: ['modern_of_*'] }, found: { catalogue: 'search' } }
  const { url } = await startGateway({ modern: { url: modern, ...OWN } }, { principal }, { gateway: { views } })
  const as = async (user: string, method: string, params: object = {}, path = url) =>
    (await ask(path, { method, params, headers: { 'x-user': user } })).result
  expect(await as('ann', 'prompts/list')).toMatchObject({
    prompts: [{ name: 'modern_hail_ann' }],
    cacheScope: 'private',
  })
  expect(await as('bob', 'resources/list')).toMatchObject({ resources: [{ uri: 'of://bob' }] })
  expect(await as('bob', 'resources/read', { uri: 'of://bob' })).toMatchObject({ contents: [{ text: 'about bob' }] })
  expect(await as('ann', 'prompts/get', { name: 'modern_hail_ann' })).toHaveProperty('messages')
  const base = new URL('/views/', url).href
  expect(await as('ann', 'tools/list', {}, `${base}some`)).toMatchObject({ tools: [{ name: 'modern_of_ann' }] })
  await as('bob', 'tools/list', {}, `${base}found`)
  const found = await as('bob', 'tools/call', { name: 'find_tools', arguments: { query: 'of' } }, `${base}found`)
  expect(JSON.stringify(found)).toContain('modern_of_bob')
  expect(JSON.stringify(found)).not.toContain('modern_of_ann')
})

test('call_tool answers with similar names where the caller has no such tool, and finds one that was added since', async () => {
  const { url: modern, add } = await modernLists(['ann', 'bob'])
  const gateway = { views: { found: { catalogue: 'search' } } }
  const { url } = await startGateway({ modern: { url: modern, ...OWN } }, { principal }, { gateway })
  const callTool = async (user: string, name: string) => {
    const params = { name: 'call_tool', arguments: { name } }
    const { href } = new URL('/views/found', url)
    return (await ask(href, { method: 'tools/call', params, headers: { 'x-user': user } })).result
  }
  const text = expect.stringMatching(/^There is no tool of that name\. Near: .*modern_of_bob/)
  expect(await callTool('bob', 'modern_of_ann')).toMatchObject({ isError: true, content: [{ text }] })
  expect(await callTool('ann', 'modern_of_ann')).toMatchObject({ content: [{ text: 'for ann' }] })
  expect(await callTool('carl', 'modern_of_carl')).toMatchObject({ isError: true })
  add('carl')
  await expect.poll(() => callTool('carl', 'modern_of_carl')).toMatchObject({ content: [{ text: 'for carl' }] })
})

test('callers without a name are told apart by their tokens, and a server that lets only them in lists to them', async () => {
  const server = createServer({
    name: 'closed',
    version: '1',
    keys: KEYS,
    logger: quiet,
    principal: ({ header }) => {
      const id = header('authorization')
      if (id === undefined) throw new AuthError('AUTH_MISSING', 'Nobody comes in without a token.')
      return { id }
    },
  })
  server.tool('anns', { description: 'Anns.', allow: (caller) => caller?.id === 'Bearer ann' }, () => 'for ann')
  const { url: address } = await server.listen({ drainOnTerm: false })
  onTestFinished(() => server.drain({ deadlineMs: 0 }))
  const { url, gateway } = await startGateway({ own: { url: address, pannier: { forwardAuthorization: true } } })
  expect(gateway.backends[0]?.connector.condition).toMatchObject({ kind: 'down' })
  const named = async (token: string) => namesOf(await connectClient('v1', url, { authorization: `Bearer ${token}` }))
  expect(await named('ann')).toEqual(['own_anns'])
  expect(await named('bob')).toEqual([])
  const ann = await connectClient('v2', url, { authorization: 'Bearer ann' })
  expect(await call(ann, 'own_anns')).toBe('for ann')
})

const UNSEEN = [
  'p\u200burge',
  'p\u00adurge',
  'purge\0',
  'purge\ufe0f',
  'pur\nge',
  '\u2066purge',
  ' \u200b purge',
  'purge\u{e0001}',
]

test('what is denied is denied in upper case, in wide letters, with spaces and unseen characters, where a server may take it as the same', async () => {
  const server = await new ScriptedServer().start()
  server.answer = ({ res, body }) => json(res, result(body, { content: [] }))
  const pannier = { forwardAuthorization: true, tools: { deny: ['purge', 'Drop_*'] } }
  const { url } = await startGateway({ own: server.entry(pannier) })
  const headers = { authorization: 'Bearer ann' }
  const called = (path: string, name: string) =>
    ask(path, { params: { name, arguments: {} }, headers: { ...headers, 'mcp-name': inHeader(name) } })
  for (const name of ['purge', 'PURGE', 'Purge', 'drop_all', ' purge', 'purge\t', 'ＰＵＲＧＥ', ...UNSEEN])
    for (const answer of [await called(`${url}/own`, name), await called(url, `own_${name}`)])
      expect(answer.error, name).toMatchObject({ code: -32602, message: expect.stringContaining('There is no tool') })
  expect(await called(`${url}/own`, 'purger')).toHaveProperty('result')
  expect(await called(url, 'own_undrop_all')).toHaveProperty('result')
  const names = server.received.map(
    ({ body }) => (JSON.parse(body.toString()) as { params: { name: string } }).params.name,
  )
  expect(names).toEqual(['purger', 'undrop_all'])
})

test('where definitions are pinned, all callers are listed what was compared', async () => {
  const { url: modern } = await modernLists(['ann'])
  const pannier = { definitions: 'pin' }
  const { url } = await startGateway({ modern: { url: modern, ...OWN, pannier } }, { principal })
  const [ann, bob] = await annAndBob('v1', url)
  for (const client of [ann, bob]) expect(await namesOf(client)).toEqual(['modern_all'])
  await expect(call(ann, 'modern_of_ann')).rejects.toThrow()
})

test('a hook decides for which servers callers have lists of their own', async () => {
  const { url: address } = await modernLists(['ann'])
  const credentials: CredentialsHook = (caller, { name }) =>
    name === 'own' ? { headers: { 'x-caller': caller?.id ?? '' } } : undefined
  const { url } = await startGateway({ own: { url: address }, other: { url: address } }, { principal, credentials })
  const [ann, bob] = await annAndBob('v2', url)
  expect(await namesOf(ann)).toEqual(['own_of_ann', 'own_all', 'other_all'])
  expect(await namesOf(bob)).toEqual(['own_all', 'other_all'])
})

test('what a server lists to a caller is read again when its time is over', async () => {
  const { url: address, add } = await modernLists(['ann'])
  const entry = { modern: { url: address, ...OWN, pannier: { listSeconds: 1 } } }
  const { url } = await startGateway(entry, { principal })
  const ann = await connectClient('v1', url, { 'x-user': 'ann' })
  const carl = await connectClient('v1', url, { 'x-user': 'carl' })
  expect(await namesOf(carl)).toEqual(['modern_all'])
  add('carl')
  await vi.waitFor(async () => expect(await namesOf(carl)).toEqual(['modern_all', 'modern_of_carl']), {
    timeout: 20_000,
  })
  expect(await namesOf(ann)).toEqual(['modern_of_ann', 'modern_all'])
})

test('while a server is away a caller sees what they saw last, and never what another saw', async () => {
  const { url: address } = await modernLists(['ann', 'bob'])
  let isAway = false
  const credentials: CredentialsHook = (caller) => {
    if (isAway) throw new Error('away')
    return { headers: { 'x-caller': caller?.id ?? '' } }
  }
  const entry = { modern: { url: address, pannier: { listSeconds: 1 } } }
  const { url } = await startGateway(entry, { principal, credentials })
  const [ann, bob] = await annAndBob('v1', url)
  expect(await namesOf(ann)).toContain('modern_of_ann')
  isAway = true
  expect(await namesOf(ann)).toEqual(['modern_of_ann', 'modern_all'])
  // Nothing was ever listed to Bob: he sees what the gateway itself is listed.
  expect(await namesOf(bob)).toEqual(['modern_all'])
})
