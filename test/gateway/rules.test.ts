/** Rules of the gateway: who may call what, with which arguments, at every address and for clients of both eras. */
import { gatewayConfigOf } from 'pannier/gateway'
import { createServer } from 'pannier/server'
import { beforeAll, describe, expect, test } from 'vitest'
import { z } from 'zod'
import type { Until } from '../fixtures/until.ts'
import { KEYS, quiet } from '../interop/fixtures/instances.ts'
import { call, CLIENTS, connectClient, modernServer, sessionServer, startGateway } from './fixtures/gateways.ts'
import { ask } from './fixtures/statelessRequest.ts'

/** `Bearer ann:dev` is Ann, a developer. */
const principal = ({ header }: { header: (name: string) => string | undefined }) => {
  const [subject = '', role = ''] = (header('authorization') ?? '').replace('Bearer ', '').split(':')
  return { id: `i|${subject}`, subject, claims: { sub: subject, role } }
}
const as = (who: string) => ({ authorization: `Bearer ${who}` })

const rules = {
  deny: [
    { if: "args.amount > 100 && !('manager' in principal.roles)", reason: 'Amounts above 100 need a manager.' },
    { if: 'tool.ownName == "purge"', reason: 'Nothing is purged here.' },
    { if: 'server == "http" && !("manager" in principal.roles)', reason: 'The server is for managers.' },
    { if: 'view == "small" && "guest" in principal.roles', reason: 'Guests use no views.' },
    { if: 'tool.ownName == "note" && args.text.startsWith("x")', reason: 'No x.' },
  ],
}
const views = { small: { tools: ['bank_*'], rename: { bank_purge: 'clean' } } }

async function bankServer(until: Until) {
  const paid: unknown[] = []
  const server = createServer({ name: 'bank', version: '1', keys: KEYS, logger: quiet })
  const input = z.object({ amount: z.number() })
  server.tool('pay', { description: 'Pays.', input }, ({ amount }) => {
    paid.push(amount)
    return `paid ${amount}`
  })
  server.tool('purge', { description: 'Purges.', annotations: { destructiveHint: true } }, () => 'purged')
  server.resource('about://me', { name: 'about' }, () => 'about the bank')
  const { url } = await server.listen({ drainOnTerm: false })
  until(() => server.drain({ deadlineMs: 0 }))
  return { url, paid }
}

let url = ''
let base = ''
let paid: unknown[] = []
let servers: Record<string, object> = {}
const logged: (readonly [object, string])[] = []

beforeAll(async () => {
  const ends: (() => unknown)[] = []
  const until = (end: () => unknown): void => void ends.unshift(end)
  const [bank, http, ours] = await Promise.all([bankServer(until), sessionServer(until), modernServer(until)])
  paid = bank.paid
  servers = {
    bank: { url: bank.url, pannier: { state: 'stateless' } },
    http: { url: http.url },
    ours: { url: ours.url, pannier: { state: 'stateless' } },
  }
  const note = (details: object, text: string): void => void logged.push([details, text])
  const logger = { ...quiet, info: note, warn: note }
  const top = { gateway: { ...rules, views, catalogue: 'all' } }
  ;({ url } = await startGateway(servers, { principal: principal as never, logger }, top, until))
  base = url.replace(/\/mcp$/, '')
  return async () => {
    for (const end of ends) await end()
  }
})

const names = async (client: Awaited<ReturnType<typeof connectClient>>) =>
  (await client.listTools()).tools.map(({ name }) => name)

describe.each(CLIENTS)('the client %s', (kind) => {
  test('reads why a call is denied, and only calls with the denied arguments are', async () => {
    const [ann, bo] = await Promise.all(['ann:dev', 'bo:manager'].map((who) => connectClient(kind, url, as(who))))
    if (ann === undefined || bo === undefined) throw new Error('no clients')
    expect(await call(ann, 'bank_pay', { amount: 100 })).toBe('paid 100')
    expect(await ann.callTool({ name: 'bank_pay', arguments: { amount: 101 } })).toMatchObject({
      isError: true,
      content: [{ text: 'Not allowed: Amounts above 100 need a manager. (gateway.deny[0])' }],
    })
    expect(await call(bo, 'bank_pay', { amount: 101 })).toBe('paid 101')
    expect(await call(bo, 'http_add', { amount: 1, a: 1, b: 2, text: '' })).toContain('3')
    expect(await call(ann, 'http_add', { amount: 1, a: 1, b: 2 })).toContain('The server is for managers.')
  })

  test('finds only what is not denied whatever the arguments are, at every address', async () => {
    const [ann, bo] = await Promise.all(['ann:dev', 'bo:manager'].map((who) => connectClient(kind, url, as(who))))
    if (ann === undefined || bo === undefined) throw new Error('no clients')
    expect(await names(ann)).toEqual(['bank_pay', 'ours_add', 'ours_confirm', 'ours_wait'])
    expect(await names(bo)).toEqual(expect.arrayContaining(['bank_pay', 'http_add', 'http_note']))
    expect(await names(bo)).not.toContain('bank_purge')
    for (const [address, name] of [
      [url, 'bank_purge'],
      [`${url}/bank`, 'purge'],
      [`${base}/views/small`, 'clean'],
    ] as const) {
      const client = await connectClient(kind, address, as('bo:manager'))
      expect(await names(client)).not.toContain(name)
      expect(await call(client, name, { amount: 1 })).toContain('Nothing is purged here.')
    }
    const alone = await connectClient(kind, `${url}/http`, as('ann:dev'))
    expect(await names(alone)).toEqual([])
    const guest = await connectClient(kind, `${base}/views/small`, as('eve:guest'))
    expect(await names(guest)).toEqual([])
    expect(await call(guest, 'bank_pay', { amount: 1 })).toContain('Guests use no views.')
  })
})

describe('an attacker', () => {
  const post = async (path: string, params: object, headers: Record<string, string> = {}) =>
    JSON.stringify(await ask(`${base}${path}`, { params, headers: { ...as('ann:dev'), ...headers } }))

  test.each([
    ['PURGE', {}],
    ['Purge', {}],
    ['bank_purge', {}],
  ])('calls no denied tool by the spelling %j', async (name, args) => {
    expect(await post('/mcp/bank', { name, arguments: args })).toContain('There is no tool')
  })

  test('says one thing in the headers and another in the body, and the body counts', async () => {
    const answer = await post('/mcp/bank', { name: 'purge', arguments: {} }, { 'mcp-name': 'pay' })
    expect(answer).not.toContain('purged"')
    expect(answer).toContain('error')
  })

  test('repeats a member, and the request is refused', async () => {
    const before = paid.length
    const meta = `"_meta":{"io.modelcontextprotocol/protocolVersion":"2026-07-28","io.modelcontextprotocol/clientCapabilities":{},"io.modelcontextprotocol/clientInfo":{"name":"raw","version":"1"}}`
    const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{${meta},"name":"pay","arguments":{"amount":1,"amount":5000}}}`
    const response = await fetch(`${base}/mcp/bank`, {
      method: 'POST',
      headers: {
        ...as('ann:dev'),
        'content-type': 'application/json',
        accept: 'application/json, text/event-stream',
        'mcp-protocol-version': '2026-07-28',
        'mcp-method': 'tools/call',
        'mcp-name': 'pay',
      },
      body,
    })
    expect(await response.text()).toContain('the same key twice')
    expect(paid.length).toBe(before)
  })

  test.each([
    [{ amount: '5000' }],
    [{ amount: [5000] }],
    [{ amount: { valueOf: 1 } }],
    [{}],
    [{ toString: 1 }],
    [{ constructor: 1 }],
    [null],
    ['5000'],
  ])('gets nothing by arguments that a rule cannot judge: %j', async (args) => {
    const before = paid.length
    const answer = await post('/mcp/bank', { name: 'pay', arguments: args })
    expect(answer).toMatch(/Not allowed|error/)
    expect(paid.length).toBe(before)
  })

  test('reads no resources of a server that is denied as a whole', async () => {
    const denied = await ask(`${base}/mcp/http`, {
      method: 'resources/read',
      params: { uri: 'about://me' },
      headers: as('ann:dev'),
    })
    expect(JSON.stringify(denied)).toContain('The server is for managers.')
  })
})

test('the log names the rule, and no arguments', async () => {
  const client = await connectClient('v2', url, as('ann:dev'))
  logged.length = 0
  await call(client, 'bank_pay', { amount: 4711 })
  await call(client, 'bank_pay', { sum: 4712 })
  const lines = logged.filter(([, text]) => text.includes('rule'))
  expect(lines).toEqual([
    [
      expect.objectContaining({ server: 'bank', tool: 'pay', rule: 'gateway.deny[0]', error: 'RULE_DENIED' }),
      'A rule denied a call.',
    ],
    [expect.objectContaining({ failure: 'no_such_key' }), 'A rule could not be decided, so its call was denied.'],
  ])
  expect(JSON.stringify(logged)).not.toContain('471')
})

test('a search finds and calls only what is not denied', async () => {
  const { url: searched } = await startGateway(
    servers,
    { principal: principal as never },
    { gateway: { ...rules, catalogue: 'search' } },
  )
  const client = await connectClient('v2', searched, as('ann:dev'))
  const found = async (query: string) =>
    JSON.stringify(await client.callTool({ name: 'find_tools', arguments: { query } }))
  expect(await found('pays')).toContain('bank_pay')
  expect(await found('purges')).not.toContain('bank_purge')
  expect(await found('add')).not.toContain('http_add')
  const use = (name: string, args: object) => call(client, 'call_tool', { name, arguments: args })
  expect(await use('bank_pay', { amount: 1 })).toBe('paid 1')
  expect(await use('bank_pay', { amount: 500 })).toContain('Amounts above 100 need a manager.')
  expect(await use('bank_purge', { amount: 1 })).toContain('Nothing is purged here.')
  expect(await call(client, 'describe_tool', { name: 'bank_purge' })).toContain('There is no tool of that name.')
})

test('rules count from a reload on, and clients are notified of what they may see now', async () => {
  const { url: served, gateway: own } = await startGateway(
    servers,
    { principal: principal as never },
    { gateway: rules },
  )
  const reload = async (settings: object) =>
    own.reload(await gatewayConfigOf({ mcpServers: servers, gateway: settings }))
  const client = await connectClient('v1', served, as('ann:dev'))
  expect(await names(client)).not.toContain('http_add')
  await reload({})
  expect(await names(client)).toContain('http_add')
  expect(await call(client, 'bank_pay', { amount: 500 })).toBe('paid 500')
  await reload({ allow: [{ if: 'tool.name == "bank_pay" && args.amount < 5' }] })
  expect(await names(client)).toEqual(['bank_pay'])
  expect(await call(client, 'bank_pay', { amount: 4 })).toBe('paid 4')
  expect(await call(client, 'bank_pay', { amount: 5 })).toContain('No rule under gateway.allow allows this.')
  await reload({ ...rules, dryRun: true })
  expect(await names(client)).toContain('http_add')
  expect(await call(client, 'bank_pay', { amount: 500 })).toBe('paid 500')
})

test('bytes pass unread to a server that no rule concerns', async () => {
  const counted = { ...rules, deny: rules.deny.slice(2, 3) }
  const lines: string[] = []
  const logger = {
    ...quiet,
    info: (details: object, text: string) =>
      void (text === 'A call was answered.' && lines.push(JSON.stringify(details))),
  }
  const { url: served } = await startGateway(servers, { principal: principal as never, logger }, { gateway: counted })
  const answered = async (path: string, params: object, who: string): Promise<boolean> => {
    lines.length = 0
    await ask(`${served}${path}`, { params, headers: as(who) })
    // Only a request that was read has an id in the log.
    return lines.some((line) => !line.includes('"id"'))
  }
  expect(await answered('/ours', { name: 'add', arguments: { a: 1, b: 1 } }, 'ann:dev')).toBe(true)
  expect(await answered('/bank', { name: 'pay', arguments: { amount: 1 } }, 'ann:dev')).toBe(true)
})
