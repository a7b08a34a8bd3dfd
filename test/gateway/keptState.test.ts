/** What a server keeps for a caller: it stays for `idleSeconds`, whoever else calls, and its loss is reported. */
import { describe, expect, test, vi } from 'vitest'
import { RawSession } from '../interop/fixtures/rawSession.ts'
import { newDatabase } from '../postgres/database.ts'
import {
  type AnyClient,
  call,
  CLIENTS,
  connectClient,
  sessionServer,
  startGateway,
  stdioEntry,
} from './fixtures/gateways.ts'

const principal = ({ header }: { header: (name: string) => string | undefined }) => ({
  id: header('x-user') ?? 'nobody',
})

/** The entry of a server that keeps notes for each caller. */
async function entryOf(over: string, settings: object): Promise<object> {
  const pannier = { state: 'stateful', ...settings }
  return over === 'http' ? { url: (await sessionServer()).url, pannier } : stdioEntry(pannier)
}

const textsOf = async (client: AnyClient, name: string): Promise<string[]> =>
  (await client.callTool({ name, arguments: {} })).content.map(({ text }) => text)

const callerAt = (url: string, user: string, at: number): Promise<AnyClient> =>
  connectClient(CLIENTS[at % CLIENTS.length] ?? 'v1', url, { 'x-user': user })

describe.each(['http', 'stdio'])('a server over %s that keeps something', (over) => {
  test('keeps it for callers who came first; those who find no room wait, and the error says what to set', async () => {
    const it = await entryOf(over, { maxProcesses: 4, maxSessions: 4, startSeconds: 6 })
    const { url } = await startGateway({ it }, { principal })
    const first = ['ann', 'bob', 'cem', 'dee']
    const clients = await Promise.all(first.map((user, at) => callerAt(url, user, at)))
    for (const [at, client] of clients.entries()) await call(client, 'it_note', { text: first[at] })
    const late = await Promise.all(['eve', 'fay'].map((user, at) => callerAt(url, user, at)))
    const refused = late.map((client) => call(client, 'it_note', { text: 'late' }))
    await Promise.allSettled(refused) // they may be refused in any order
    for (const answer of refused) {
      await expect(answer).rejects.toThrow(/all of its 4 .*kept for callers.*(?:maxProcesses|maxSessions).*idleSeconds/)
      await expect(answer).rejects.toMatchObject({ data: { code: 'BACKEND_BUSY' } })
    }
    for (const [at, client] of clients.entries()) expect(await call(client, 'it_recall')).toBe(first[at])
  })

  test('leaves room for a newcomer where two callers have all of it, and tells the one who loses something', async () => {
    const it = await entryOf(over, { maxProcesses: 4, maxSessions: 4 })
    const { url } = await startGateway({ it }, { principal })
    const clientOf = (user: string, at: number, capabilities: object): Promise<AnyClient> =>
      connectClient(CLIENTS[at] ?? 'v1', url, { 'x-user': user }, capabilities)
    const clients: AnyClient[] = []
    for (const user of ['ann', 'bob'])
      for (const capabilities of [{}, { roots: {} }]) {
        const client = await clientOf(user, clients.length % CLIENTS.length, capabilities)
        await call(client, 'it_note', { text: 'milk' })
        clients.push(client)
      }
    const [first = expect.fail(), ...others] = clients
    const late = await clientOf('cem', 2, {})
    expect(await call(late, 'it_note', { text: 'late' })).toBe('noted')
    for (const client of others) expect(await textsOf(client, 'it_recall')).toEqual(['milk'])
    expect(await textsOf(late, 'it_recall')).toEqual(['late'])
    expect(await textsOf(first, 'it_recall')).toEqual(['', expect.stringContaining('was closed to make room')])
  })

  test('tells a caller once that it is gone, after idleSeconds without a call', async () => {
    const it = await entryOf(over, { idleSeconds: 1 })
    const { url, gateway } = await startGateway({ it }, { principal })
    const clients = await Promise.all(CLIENTS.map((kind, at) => callerAt(url, kind, at)))
    for (const client of clients) expect(await textsOf(client, 'it_recall')).toEqual([''])
    await vi.waitFor(() => expect(gateway.backends[0]?.sender.links).toBe(0))
    for (const client of clients) {
      const gone = expect.stringMatching(/"it" .* was closed after 1 seconds? without a call.*is gone/)
      expect(await textsOf(client, 'it_recall')).toEqual(['', gone])
      expect(await textsOf(client, 'it_recall')).toEqual([''])
    }
  })

  test('has room again when a client has ended its session', async () => {
    const it = await entryOf(over, { maxProcesses: 1, maxSessions: 1 })
    const { url } = await startGateway({ it })
    for (const _ of [1, 2]) {
      const session = await RawSession.begin(url)
      const { result } = await session.request('tools/call', { name: 'it_note', arguments: { text: 'milk' } })
      expect(result).toMatchObject({ content: [{ text: 'noted' }] })
      await session.end()
    }
  })
})

test('a caller whose process ended in one of their calls is told once what that means', async () => {
  const { url } = await startGateway({ it: stdioEntry({ state: 'stateful' }) }, { principal })
  const ann = await callerAt(url, 'ann', 0)
  await call(ann, 'it_note', { text: 'milk' })
  await expect(call(ann, 'it_die')).rejects.toMatchObject({ data: { code: 'BACKEND_LOST' } })
  const gone =
    'The process or session that the server "it" had for this caller has ended. What the server kept there is gone.'
  expect(await textsOf(ann, 'it_recall')).toEqual(['', gone])
  expect(await textsOf(ann, 'it_recall')).toEqual([''])
})

test('two gateways with PostgreSQL keep what callers have as well, and tell them when it is gone', async () => {
  const top = { gateway: { postgres: await newDatabase() } }
  const it = await entryOf('stdio', { maxProcesses: 1, idleSeconds: 5, startSeconds: 15 })
  const gateways = await Promise.all([1, 2].map(() => startGateway({ it }, { principal }, top)))
  const [here = expect.fail(), there = expect.fail()] = gateways.map(({ url }) => url)
  const ann = await callerAt(here, 'ann', 0)
  await call(ann, 'it_note', { text: 'milk' })
  const again = await callerAt(there, 'ann', 2)
  expect(await call(again, 'it_recall')).toBe('milk')
  const bob = await callerAt(here, 'bob', 1)
  expect(await call(bob, 'it_note', { text: 'bread' })).toBe('noted') // waits for the end of her five seconds
  expect(await textsOf(again, 'it_recall')).toEqual(['', expect.stringContaining('is gone')])
})

test('a server that seems to keep nothing makes room with a warning, once a minute, and its caller is told', async () => {
  const warned: [object, string][] = []
  const log = { debug() {}, info() {}, error() {} }
  const logger = { ...log, warn: (...line: [object, string]) => void warned.push(line) }
  const it = await entryOf('stdio', { state: 'auto', maxProcesses: 1 })
  const { url, gateway } = await startGateway({ it }, { principal, logger })
  await gateway.judged()
  const { prober } = gateway.backends[0] ?? expect.fail()
  const guess = { state: 'STATELESS', decidedBy: 'tools' } as const
  prober.verdict = { ...prober.verdict, ...guess, process: guess } as unknown as typeof prober.verdict
  const [ann = expect.fail(), ...others] = await Promise.all(
    ['ann', 'bob', 'cem'].map((user, at) => callerAt(url, user, at)),
  )
  for (const client of [ann, ...others]) expect(await textsOf(client, 'it_recall')).toEqual([''])
  expect(await textsOf(ann, 'it_recall')).toEqual(['', expect.stringContaining('was closed to make room')])
  expect(warned.filter(([, sentence]) => sentence.includes('closed to make room'))).toMatchObject([
    [{ server: 'it', evicted: 1 }, expect.stringContaining('Raise maxProcesses or maxSessions')],
  ])
})
