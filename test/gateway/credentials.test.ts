/** What servers are sent of who calls: never another caller's, and nothing that the configuration does not say. */
import type { IncomingMessage } from 'node:http'
import type { CredentialsHook } from 'pannier/gateway'
import { createServer } from 'pannier/server'
import { afterAll, beforeAll, describe, expect, onTestFinished, test } from 'vitest'
import { KEYS, quiet } from '../interop/fixtures/instances.ts'
import { startBalancer } from '../survival/balancer.ts'
import { call, type ClientKind, connectClient, sessionServer, startGateway, stdioEntry } from './fixtures/gateways.ts'

const principal = ({ header }: { header: (name: string) => string | undefined }) => ({
  id: header('x-user') ?? 'nobody',
})

/** Headers of all requests that a server got. */
type Seen = Readonly<Record<string, string | string[] | undefined>>[]

const ends: (() => unknown)[] = []
const until = (end: () => unknown): void => void ends.push(end)
let modern: { url: string; seen: Seen }
let legacy: { url: string; seen: Seen }

beforeAll(async () => {
  const seen: Seen = []
  const server = createServer({
    name: 'seen',
    version: '1',
    keys: KEYS,
    logger: quiet,
    principal: ({ header }) => {
      seen.push({ authorization: header('authorization'), 'x-key': header('x-key') })
      return undefined
    },
  })
  server.tool('add', { description: 'Adds.' }, () => 'added')
  const { url } = await server.listen({ drainOnTerm: false })
  until(() => server.drain({ deadlineMs: 0 }))
  modern = { url, seen }
  const all: Seen = []
  const withSessions = await sessionServer(until, undefined, ({ headers }: IncomingMessage) => void all.push(headers))
  legacy = { url: withSessions.url, seen: all }
})
afterAll(async () => {
  for (const end of ends.toReversed()) await end()
})

const sent = (seen: Seen, header: string) => [...new Set(seen.map((headers) => headers[header]))].filter(Boolean)

describe.each<[string, () => { url: string; seen: Seen }, ClientKind]>([
  ['2026-07-28', () => modern, 'v2'],
  ['2026-07-28, called by the session era,', () => modern, 'v1'],
  ['the session era', () => legacy, 'v1'],
  ['the session era, called by 2026-07-28,', () => legacy, 'v2'],
])('a server of %s', (_, serverOf, kind) => {
  const toolOf = (name: string) => [`${name}_add`, { a: 1, b: 2 }] as const

  test('gets the token of a caller where its entry says so, the current one, and of each caller their own', async () => {
    const { url: address, seen } = serverOf()
    seen.length = 0
    const { url } = await startGateway(
      { plain: { url: address }, trusted: { url: address, pannier: { forwardAuthorization: true } } },
      { principal },
    )
    expect(sent(seen, 'authorization')).toEqual([])
    const headers = { 'x-user': 'ann', authorization: 'Bearer anns' }
    const ann = await connectClient(kind, url, headers)
    await call(ann, ...toolOf('plain'))
    expect(sent(seen, 'authorization')).toEqual([])
    await call(ann, ...toolOf('trusted'))
    expect(sent(seen, 'authorization')).toEqual(['Bearer anns'])
    const bob = await connectClient(kind, url, { 'x-user': 'bob', authorization: 'Bearer bobs' })
    seen.length = 0
    await call(bob, ...toolOf('trusted'))
    expect(sent(seen, 'authorization')).toEqual(['Bearer bobs'])
    seen.length = 0
    headers.authorization = 'Bearer anns-next'
    const again = await connectClient(kind, url, headers)
    await call(again, ...toolOf('trusted'))
    expect(sent(seen, 'authorization')).toEqual(['Bearer anns-next'])
  })

  test('gets the headers that a hook gives for a caller and this server, for each request', async () => {
    const { url: address, seen } = serverOf()
    seen.length = 0
    const asked: string[] = []
    const credentials: CredentialsHook = async (caller, { name }) => {
      asked.push(`${caller?.id} ${name}`)
      return name === 'own' ? { headers: { 'X-Key': `${caller?.id} ${asked.length}` } } : undefined
    }
    const { url } = await startGateway({ own: { url: address }, other: { url: address } }, { principal, credentials })
    const ann = await connectClient(kind, url, { 'x-user': 'ann' })
    await call(ann, ...toolOf('own'))
    await call(ann, ...toolOf('own'))
    await call(ann, ...toolOf('other'))
    expect(asked).toEqual(['ann own', 'ann own', 'ann other'])
    expect(sent(seen, 'x-key')).toEqual(['ann 1', 'ann 2'])
  })
})

test('without a name, callers of different tokens have different sessions', async () => {
  const server = await sessionServer()
  const { url } = await startGateway({ own: { url: server.url, pannier: { forwardAuthorization: true } } })
  const [ann = expect.fail(), bob = expect.fail()] = await Promise.all(
    ['a', 'b'].map((token) => connectClient('v2', url, { authorization: `Bearer ${token}` }, {})),
  )
  await call(ann, 'own_note', { text: 'a' })
  await call(bob, 'own_note', { text: 'b' })
  expect(await call(ann, 'own_recall')).toBe('a')
  expect(await call(bob, 'own_recall')).toBe('b')
})

test('a call that another gateway answers takes the token of its caller along', async () => {
  const tokens = new Set<string | undefined>()
  const server = await sessionServer(undefined, undefined, ({ headers }) => void tokens.add(headers.authorization))
  const servers = { own: { url: server.url, pannier: { state: 'stateful', forwardAuthorization: true } } }
  const gateways = await Promise.all([1, 2].map(() => startGateway(servers)))
  const balancer = await startBalancer()
  onTestFinished(() => balancer.close())
  balancer.targets = gateways.map(({ url }) => url)
  const ann = await connectClient('v1', balancer.url, { authorization: 'Bearer ann' })
  tokens.clear()
  await call(ann, 'own_note', { text: 'milk' })
  for (let time = 0; time < 3; time++) expect(await call(ann, 'own_recall')).toBe('milk')
  expect([...tokens]).toEqual(['Bearer ann'])
})

test.each<[ClientKind, string, object]>([
  ['v1', 'one that may keep something', {}],
  ['v2', 'one that may keep something', {}],
  ['v1', 'a stateless one', { state: 'stateless' }],
  ['v2', 'a stateless one', { state: 'stateless' }],
])('a client %s calls %s, whose variables name the caller: each caller has a process', async (kind, _, pannier) => {
  const env = { WHO: 'I am ${principal.id}', PLAIN: 'x' }
  const { url, gateway } = await startGateway({ own: { ...stdioEntry(pannier), env } }, { principal })
  const clients = await Promise.all(['ann', 'bob'].map((user) => connectClient(kind, url, { 'x-user': user }, {})))
  const said = (name: string) => Promise.all(clients.map((client) => call(client, 'own_variable', { name })))
  expect(await said('WHO')).toEqual(['I am ann', 'I am bob'])
  expect(await said('PLAIN')).toEqual(['x', 'x'])
  expect(gateway.backends[0]?.sender.links).toBe(2)
})

test('no process is started for a caller without a claim that its variables need', async () => {
  const env = { TEAM: '${principal.claims.team}' }
  const { url, gateway } = await startGateway({ own: { ...stdioEntry({}), env } }, { principal })
  const client = await connectClient('v2', url, { 'x-user': 'ann' })
  await expect(call(client, 'own_variable', { name: 'TEAM' })).rejects.toThrow(
    'The variable TEAM for this server needs principal.claims.team, which the caller does not have',
  )
  expect(gateway.backends[0]?.sender.links).toBe(0)
})

test('a program gets the variables of a caller, and no other caller shares it, however stateless it is', async () => {
  const credentials: CredentialsHook = (caller) => ({ env: { WHO: `I am ${caller?.id}` } })
  const { url, gateway } = await startGateway({ own: stdioEntry({ state: 'stateless' }) }, { principal, credentials })
  const clients = await Promise.all(['ann', 'bob'].map((user) => connectClient('v2', url, { 'x-user': user }, {})))
  const said = await Promise.all(clients.map((client) => call(client, 'own_variable', { name: 'WHO' })))
  expect(said).toEqual(['I am ann', 'I am bob'])
  expect(gateway.backends[0]?.sender.links).toBe(2)
})

test.each<[string, CredentialsHook]>([
  ['throws', () => Promise.reject(new Error('the vault said s3cret'))],
  ['gives what cannot be sent', () => ({ headers: { 'x-key': 's3cret\n' } })],
])('a hook that %s refuses the call in a sentence, and its words reach nobody', async (_, credentials) => {
  const lines: unknown[] = []
  const note = (details: object, message: string) => void lines.push(details, message)
  const logger = { debug: note, info: note, warn: note, error: note }
  const { url } = await startGateway({ own: { url: modern.url } }, { principal, credentials, logger })
  const client = await connectClient('v2', url)
  const failure: unknown = await call(client, 'own_add').catch((error: unknown) => error)
  expect(failure).toMatchObject({ message: expect.stringContaining('The server "own" was not asked.') as string })
  expect(JSON.stringify([lines, String(failure)])).not.toContain('s3cret')
})
