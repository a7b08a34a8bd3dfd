/** Two gateways behind a plain balancer, before servers that keep something for each caller. */
import { once } from 'node:events'
import { type AddressInfo, createServer } from 'node:net'
import { connect } from 'pannier/client'
import { createGateway, gatewayConfigOf } from 'pannier/gateway'
import { beforeAll, expect, onTestFinished, test, vi } from 'vitest'
import { call as callByHand, type Wire } from '../fixtures/modernClient.ts'
import { balancedGateways, principal, serversOfBothEras, untilAllEnd } from './fixtures/bothEras.ts'
import { KEYS, quiet } from '../interop/fixtures/instances.ts'
import { RawSession } from '../interop/fixtures/rawSession.ts'
import { type AnyClient, call, CLIENTS, connectClient, startGateway, stdioEntry } from './fixtures/gateways.ts'
import { sure, textOf } from './fixtures/parkedRounds.ts'

const until = untilAllEnd()
let url = ''

beforeAll(async () => {
  const { servers } = await serversOfBothEras(until)
  url = (await balancedGateways(servers, until, { principal })).url
})

test.each(['v1', 'v2 in a session'] as const)(
  'a session of the client %s keeps what it noted, at either',
  async (kind) => {
    for (const server of ['http', 'stdio']) {
      const [ann, bob] = await Promise.all([connectClient(kind, url), connectClient(kind, url)])
      await call(ann, `${server}_note`, { text: 'milk' })
      await call(bob, `${server}_note`, { text: 'bread' })
      for (let time = 0; time < 3; time++) {
        expect(await call(ann, `${server}_recall`)).toBe('milk')
        expect(await call(bob, `${server}_recall`)).toBe('bread')
      }
      expect(await call(ann, `${server}_confirm`)).toBe('accept true, accept true')
    }
  },
)

test.each(['v1', 'v2 in a session'] as const)(
  'a session of the client %s is one session while several of its calls run, at either',
  async (kind) => {
    for (const server of ['http', 'stdio']) {
      const client = await connectClient(kind, url)
      await call(client, `${server}_note`, { text: 'milk' })
      const leave = new AbortController()
      const waits = Array.from({ length: 2 }, () => call(client, `${server}_wait`, {}, { signal: leave.signal }))
      const ended = Promise.allSettled(waits)
      await vi.waitFor(async () => expect(await call(client, `${server}_recall`)).toBe('milk waiting waiting'))
      const asked = await Promise.all(Array.from({ length: 3 }, () => call(client, `${server}_confirm`)))
      expect(asked).toEqual(asked.map(() => 'accept true, accept true'))
      for (let time = 0; time < 3; time++) expect(await call(client, `${server}_recall`)).toContain('milk')
      leave.abort()
      await ended
      for (let time = 0; time < 3; time++) expect(await call(client, `${server}_recall`)).toContain('milk')
    }
  },
)

test.each(['http', 'stdio'])(
  'a caller of the stateless era is back in its session of the server %s when no other call waits, at either',
  async (server) => {
    const headers = { 'x-user': `waiting ${server}`, connection: 'close' }
    const at = async (name: string, args: Record<string, unknown> = {}, params: Wire = {}): Promise<Wire> =>
      (await callByHand(url, `${server}_${name}`, args, { headers, params, capabilities: { elicitation: {} } })).message
        .result
    const recalled = async (): Promise<string> => (await at('recall')).content[0].text
    await at('note', { text: 'milk' })
    let round = await at('confirm')
    expect(await recalled()).toBe('')
    for (let time = 0; time < 2; time++) round = await at('confirm', {}, sure(round))
    expect(round.content[0].text).toBe('accept true, accept true')
    for (let time = 0; time < 4; time++) expect(await recalled()).toBe('milk')
  },
)

test.each(['ours', 'http', 'stdio'])(
  'our client is asked in a session, where it takes questions as results, by the server %s at either',
  async (server) => {
    const form = () => ({ action: 'accept', content: { sure: true } })
    for (let time = 0; time < 4; time++) {
      const client = await connect(url, { era: 'session', answerers: { form } })
      onTestFinished(() => client.close())
      const asked = call(client as unknown as AnyClient, `${server}_confirm`)
      expect(await asked).toBe('accept true, accept true')
    }
  },
)

test.each(CLIENTS)('a caller who is known keeps what they noted with the client %s, at either', async (kind) => {
  for (const server of ['http', 'stdio']) {
    const names = ['ann', 'bob', 'carl'].map((name) => `${name} ${kind} ${server}`)
    const none = { elicitation: {} }
    const clients = await Promise.all(names.map((name) => connectClient(kind, url, { 'x-user': name }, none)))
    for (const [turn, client] of clients.entries()) await call(client, `${server}_note`, { text: names[turn] })
    for (let time = 0; time < 3; time++)
      for (const [turn, client] of clients.entries()) expect(await call(client, `${server}_recall`)).toBe(names[turn])
    for (const client of clients) expect(await call(client, `${server}_confirm`)).toBe('accept true, accept true')
  }
})

test.each(['http', 'stdio'])('callers without a name are one caller of the server %s, at either', async (server) => {
  const at = async (name: string, args: Record<string, unknown> = {}): Promise<Wire> =>
    (await callByHand(url, `${server}_${name}`, args, { headers: { connection: 'close' } })).message.result
  for (const text of ['milk', 'bread', 'salt']) await at('note', { text })
  for (let time = 0; time < 4; time++) expect((await at('recall')).content[0].text).toBe('milk bread salt')
})

const SESSION = 'modelcontextprotocol.io/state/session'

test.each(['http', 'stdio'])('a client that keeps state is one caller of the server %s, at either', async (server) => {
  const clients = Array.from({ length: 5 }, (_, turn) => ({ text: `note ${turn}`, kept: {} as Wire }))
  const at = async (
    client: (typeof clients)[number],
    name: string,
    args: Record<string, unknown> = {},
  ): Promise<Wire> => {
    const sent = { capabilities: { extensions: { 'dev.pannier/client-state': {} } }, meta: { [SESSION]: client.kept } }
    const { message } = await callByHand(url, `${server}_${name}`, args, sent)
    client.kept = { ...client.kept, ...message.result._meta?.[SESSION] }
    return message.result
  }
  for (const client of clients) await at(client, 'note', { text: client.text })
  for (let time = 0; time < 3; time++)
    for (const client of clients) expect((await at(client, 'recall')).content[0].text).toBe(client.text)
})

test('the first call of a session runs at a gateway that never met the one that began it, and cannot reach it', async () => {
  const gone = createServer((socket) => socket.resetAndDestroy()).listen(0, '127.0.0.1')
  onTestFinished(() => void gone.close())
  await once(gone, 'listening')
  const advertise = `http://127.0.0.1:${(gone.address() as AddressInfo).port}`
  const servers = { stdio: stdioEntry() }
  const before = createGateway({ ...(await gatewayConfigOf({ mcpServers: servers })), keys: KEYS, logger: quiet })
  const session = await RawSession.begin((await before.listen({ advertise })).url)
  await before.drain({ deadlineMs: 0 })
  session.url = (await startGateway(servers)).url
  const { result, error } = await session.request('tools/call', { name: 'stdio_add', arguments: { a: 1, b: 2 } })
  expect(error).toBeUndefined()
  expect(textOf(result)).toBe('3')
})
