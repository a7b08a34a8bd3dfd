/** Who shares what: nobody sees what another caller left in a server that keeps something. */
import { gatewayConfigOf } from 'pannier/gateway'
import { describe, expect, test, vi } from 'vitest'
import { proves } from '../proves.ts'
import { amount } from '../amount.ts'
import { pannier as program } from '../cli/fixtures/program.ts'
import { call as callByHand, type Wire } from '../fixtures/modernClient.ts'
import { RawSession } from '../interop/fixtures/rawSession.ts'
import { call, CLIENTS, connectClient, sessionServer, startGateway, stdioEntry } from './fixtures/gateways.ts'
import { sure, textOf } from './fixtures/parkedRounds.ts'
import { ask } from './fixtures/statelessRequest.ts'
import { json, type Received, result, ScriptedServer } from './fixtures/statelessServers.ts'

const principal = ({ header }: { header: (name: string) => string | undefined }) => ({
  id: header('x-user') ?? 'nobody',
})

test.each(['http', 'stdio'])(
  'callers of a server that remembers over %s never see what another noted',
  async (over) => {
    const servers = { http: { url: (await sessionServer()).url }, stdio: stdioEntry({ maxProcesses: 8 }) }
    const { url } = await startGateway(servers, { principal })
    const users = ['ann', 'bob', 'cem', 'dee']
    const clients = await Promise.all(
      users.map((user, at) => connectClient(at % 2 ? 'v2' : 'v1', url, { 'x-user': user })),
    )
    const seen = await Promise.all(
      clients.map(async (client, at) => {
        for (let time = 0; time < 3; time++) await call(client, `${over}_note`, { text: users[at] })
        return call(client, `${over}_recall`)
      }),
    )
    expect(seen).toEqual(users.map((user) => `${user} ${user} ${user}`))
  },
)

test('a caller comes back to what they left, with another client of the other era', async () => {
  const { url } = await startGateway({ stdio: stdioEntry({ state: 'stateful' }) }, { principal })
  const first = await connectClient('v1', url, { 'x-user': 'ann' })
  await call(first, 'stdio_note', { text: 'milk' })
  await first.close()
  const second = await connectClient('v2', url, { 'x-user': 'ann' })
  expect(await call(second, 'stdio_recall')).toBe('milk')
})

describe.each(['http', 'stdio'])('a server over %s that keeps something', (over) => {
  async function start(known: boolean) {
    const pannier = { state: 'stateful' }
    const entry = over === 'http' ? { url: (await sessionServer()).url, pannier } : stdioEntry(pannier)
    const { url } = await startGateway({ it: entry }, known ? { principal } : {})
    return async (tool: string, capabilities: Record<string, unknown>, args = {}, params = {}): Promise<Wire> =>
      (await callByHand(url, `it_${tool}`, args, { capabilities, headers: { 'x-user': 'ann' }, params })).message.result
  }

  test.each(['with', 'without'])(
    'asks a client that can be asked after another of a caller %s a name could not be, and keeps what each left',
    async (named) => {
      const by = await start(named === 'with')
      const forms = { elicitation: {} }
      await by('note', {}, { text: 'milk' })
      await by('note', forms, { text: 'bread' })
      const first = await by('confirm', forms)
      expect(first).toHaveProperty('inputRequests')
      const last = await by('confirm', forms, {}, sure(await by('confirm', forms, {}, sure(first))))
      expect(textOf(last)).toBe('accept true, accept true')
      expect(textOf(await by('recall', forms))).toBe('bread')
      expect(textOf(await by('recall', {}))).toBe('milk')
    },
  )

  test('asks for nothing that the client of the call has not declared, whatever others have', async () => {
    const by = await start(true)
    await by('confirm', { elicitation: {}, sampling: {} })
    const asked = [
      await by('confirm', {}),
      await by('confirm', { elicitation: { url: {} } }),
      await by('think', { elicitation: {} }),
    ]
    for (const answer of asked)
      expect(JSON.stringify(answer)).toMatch(
        /(?:not support form elicitation|needs a client that declares: sampling).*"isError":true/,
      )
  })

  test('that wants to ask tells the program without a terminal what to give', async () => {
    const pannier = { state: 'stateful' }
    const entry = over === 'http' ? { url: (await sessionServer()).url, pannier } : stdioEntry(pannier)
    const { url } = await startGateway({ it: entry })
    const ran = await program(['call', url, 'it_confirm'])
    expect(ran).toMatchObject({ status: 1, stderr: expect.stringMatching(/support form elicitation.*\n.*--answers/) })
  })

  test.each(['with', 'without'])(
    'asks nobody else than who called, while another client of a caller %s a name waits for an answer',
    async (named) => {
      const by = await start(named === 'with')
      const waiting = await by('confirm', { elicitation: {} })
      expect(await by('confirm', {})).toMatchObject({ isError: true })
      const { inputRequests } = await by('confirm', { elicitation: {} }, {}, sure(waiting))
      expect(JSON.stringify(inputRequests)).toContain('Really?')
    },
  )
})

test('a session that the server forgot is opened anew, and the call is made once', async () => {
  const server = await sessionServer()
  const { url } = await startGateway({ http: { url: server.url, pannier: { state: 'stateful' } } })
  const client = await connectClient('v2', url)
  await call(client, 'http_note', { text: 'milk' })
  server.forgetAll()
  expect(await call(client, 'http_note', { text: 'bread' })).toBe('noted')
  expect(await call(client, 'http_recall')).toBe('bread')
})

proves('DT-20 DT-23', 'a server declared stateless is one process for callers who cannot be asked', async () => {
  const { url, gateway } = await startGateway({ stdio: stdioEntry({ state: 'stateless' }) }, { principal })
  const [ann = expect.fail(), bob = expect.fail()] = await Promise.all(
    ['ann', 'bob'].map((user) => connectClient('v2', url, { 'x-user': user }, {})),
  )
  await Promise.all([call(ann, 'stdio_note', { text: 'a' }), call(bob, 'stdio_note', { text: 'b' })])
  expect((await call(ann, 'stdio_recall')).split(' ').toSorted()).toEqual(['a', 'b'])
  expect(gateway.backends[0]?.sender.links).toBe(0)
})

proves(
  'DT-22',
  'an answer of a server that keeps something says so, and so does what clients of both eras learn first',
  async () => {
    const { url } = await startGateway({ stdio: stdioEntry({ state: 'stateful' }) })
    for (const kind of CLIENTS) {
      const client = await connectClient(kind, url)
      const { _meta } = await client.callTool({ name: 'stdio_add', arguments: { a: 1, b: 1 } })
      expect(_meta?.['dev.pannier/backend']).toEqual({ name: 'stdio', stateful: true })
    }
    const keeps = { capabilities: { session: { persistent: true } } }
    for (const at of [url, `${url}/stdio`]) {
      expect((await RawSession.begin(at)).initialized.result).toMatchObject(keeps)
      expect((await ask(at, { method: 'server/discover', params: {} })).result).toMatchObject(keeps)
    }
  },
)

proves(
  'DT-21 DT-23',
  'a server that keeps something is warned of, and not served where the gateway says so',
  async () => {
    const warned: string[] = []
    const logger = {
      debug() {},
      info() {},
      error() {},
      warn: (_: object, message: string) => void warned.push(message),
    }
    const servers = { http: { url: (await sessionServer()).url } }
    const { url, gateway } = await startGateway(servers, { logger }, { gateway: { stateful: 'reject' } })
    await gateway.judged()
    const client = await connectClient('v2', url)
    expect((await client.listTools()).tools).toEqual([])
    await expect(call(client, 'http_add', { a: 1, b: 2 })).rejects.toThrow(
      /keeps something between calls|There is no tool/,
    )
    expect(warned.join()).toContain('A server keeps something between calls')
    await gateway.reload(await gatewayConfigOf({ mcpServers: servers }))
    expect(await call(client, 'http_add', { a: 1, b: 2 })).toBe('3')
  },
)

proves(
  'DT-20',
  'fifty callers at once on a server that remembers: nobody sees what another noted',
  async () => {
    const http = { url: (await sessionServer()).url, pannier: { state: 'stateful' } }
    const { url, gateway } = await startGateway({ http }, { principal })
    const users = Array.from({ length: 50 }, (_, at) => `user${at}`)
    const notes = amount(4, 199)
    const seen = await Promise.all(
      users.map(async (user, at) => {
        const client = await connectClient(at % 2 ? 'v2' : 'v1', url, { 'x-user': user }, {})
        for (let time = 0; time < notes; time++) await call(client, 'http_note', { text: user })
        return call(client, 'http_recall')
      }),
    )
    expect(seen).toEqual(users.map((user) => Array.from({ length: notes }, () => user).join(' ')))
    expect(gateway.backends[0]?.sender.links).toBe(50)
  },
  240_000,
)

test('sessions without a name count together by their address, so that many of them take half of maxInFlight', async () => {
  const waiting: Received[] = []
  const scripted = await new ScriptedServer().start()
  scripted.answer = (received) => void waiting.push(received)
  const { url } = await startGateway({ slow: scripted.entry({ maxInFlight: 4 }) })
  const sessions = await Promise.all(Array.from({ length: 3 }, () => RawSession.begin(url)))
  const [third = expect.fail(), ...others] = sessions
  const held = others.map((session) => session.request('tools/call', { name: 'slow_thing', arguments: {} }))
  await vi.waitFor(() => expect(waiting).toHaveLength(2))
  scripted.answer = ({ res, body }) => json(res, result(body, { content: [] }))
  const call = { name: 'slow_thing', arguments: {} }
  const message = expect.stringContaining('has 2 requests of this caller under way. One caller may have 2 of its 4')
  expect(await third.request('tools/call', call)).toMatchObject({ error: { message, data: { code: 'BACKEND_BUSY' } } })
  for (const { res, body } of waiting) json(res, result(body, { content: [] }))
  await Promise.all(held)
  expect(await third.request('tools/call', call)).toMatchObject({ result: { content: [] } })
})

test.each(['http', 'stdio'])(
  'one caller has half of the room of the server %s: a call beyond that waits, and others are served meanwhile',
  async (name) => {
    const pannier = { state: 'stateful', maxProcesses: 2, maxSessions: 2 }
    const entry = name === 'http' ? { url: (await sessionServer()).url, pannier } : stdioEntry(pannier)
    const { url } = await startGateway({ [name]: entry }, { principal })
    const by = async (user: string, tool: string, params: object = {}): Promise<Wire> =>
      (await callByHand(url, `${name}_${tool}`, {}, { headers: { 'x-user': user }, params: { ...params } })).message
        .result
    const first = await by('ann', 'confirm')
    let isBegun = false
    const second = by('ann', 'confirm').finally(() => (isBegun = true))
    for (let time = 0; time < 3; time++) expect((await by('bob', 'recall')).content[0].text).toBe('')
    expect(isBegun).toBe(false)
    const last = await by('ann', 'confirm', sure(await by('ann', 'confirm', sure(first))))
    expect(last.content[0].text).toBe('accept true, accept true')
    expect(await second).toHaveProperty('inputRequests')
  },
)
