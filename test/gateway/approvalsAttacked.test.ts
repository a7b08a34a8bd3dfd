/** Attacks on approvals by rule: nothing is sent that nobody has approved, and one approval sends one call. */
import { gatewayConfigOf } from 'pannier/gateway'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { parseJson } from '../../src/protocol/index.ts'
import { askless, principalOf, textOf, type ToolResult, waitingIn } from '../questions/fixtures/askless.ts'
import { storePath } from '../tasks/fixtures/echoServer.ts'
import { MANAGERS, startAsking, startBank } from './fixtures/bank.ts'
import { call, CLIENTS, connectClient } from './fixtures/gateways.ts'
import { ask } from './fixtures/statelessRequest.ts'
import { json, result, ScriptedServer } from './fixtures/statelessServers.ts'

const mia = principalOf('mia')
const stateless = { pannier: { state: 'stateless' } }

/** A gateway with this rule, and what its server has paid. */
async function guarded(rule: object = {}, more: object = {}) {
  const bank = await startBank()
  const settings = { store: storePath(), approve: [{ ...MANAGERS, ...rule }], ...more }
  const servers = { bank: { url: bank.url, ...stateless } }
  const { url, gateway } = await startAsking(servers, settings)
  const open = async () => (await gateway.questions.open({ for: mia })).questions
  const approve = async (content: object | 'decline' = { approve: true }) =>
    gateway.questions.answer((await open())[0]?.id ?? '', content as never, mia)
  const reload = async (changed: object, others: object = servers) =>
    gateway.reload(await gatewayConfigOf({ mcpServers: others, gateway: { ...settings, ...changed } }))
  return { url, base: url.replace(/\/mcp$/, ''), gateway, open, approve, reload, paid: bank.paid }
}

/** The end of a call that waits: its result once it has one. */
async function endOf(client: Awaited<ReturnType<typeof askless>>, waiting: ToolResult): Promise<string> {
  const { ticket } = waitingIn(waiting)
  return vi.waitFor(async () => {
    const result = await client.call('continue_call', { ticket })
    expect(result._meta?.['dev.pannier/waiting']).toBeUndefined()
    return textOf(result)
  })
}

test('an approval counts once: the same call waits for another one, and its ticket sends nothing', async () => {
  const { url, paid, approve, open } = await guarded()
  const ann = await askless('SDK v2', url, 'ann')
  const waiting = await ann.call('bank_pay', { amount: 1 })
  const { id } = (await open())[0]!
  await approve()
  expect(await endOf(ann, waiting)).toBe('paid 1')
  const { ticket } = waitingIn(waiting)
  expect(textOf(await ann.call('continue_call', { ticket }))).toBe('paid 1')
  const again = await ann.call('bank_pay', { amount: 1 })
  expect(waitingIn(again).ticket).not.toBe(ticket)
  expect((await open())[0]!.id).not.toBe(id)
  expect(paid).toEqual([1])
})

test('an approval is for these arguments, this caller and this tool alone', async () => {
  const { url, paid, approve } = await guarded()
  const [ann, bob] = await Promise.all(['ann', 'bob'].map((name) => askless('SDK v1', url, name)))
  const waiting = await ann!.call('bank_pay', { amount: 1 })
  await approve()
  for (const other of [
    await ann!.call('bank_pay', { amount: 2 }),
    await ann!.call('bank_pay', { amount: 1, to: 'me' }),
    await bob!.call('bank_pay', { amount: 1 }),
    await ann!.call('bank_count'),
  ])
    expect(textOf(other)).toContain('It waits for role:manager')
  const { ticket } = waitingIn(waiting)
  expect(textOf(await bob!.call('continue_call', { ticket }))).toContain('No call waits under this ticket.')
  expect(await endOf(ann!, waiting)).toBe('paid 1')
  expect(paid).toEqual([1])
})

test('what was declined is not sent, and neither is what was accepted without "approve"', async () => {
  const { url, paid, approve } = await guarded()
  const ann = await askless('SDK v2', url, 'ann')
  for (const answer of ['decline', { approve: false }] as const) {
    const waiting = await ann.call('bank_pay', { amount: 1 })
    await approve(answer)
    expect(await endOf(ann, waiting)).toBe('Not approved: mia declined. Nothing was sent.')
  }
  expect(paid).toEqual([])
})

describe('under fourEyes', () => {
  test.each(CLIENTS)('a manager with the client %s cannot approve an own call', async (kind) => {
    const { url, paid, open, gateway, approve } = await guarded()
    const client = await connectClient(kind, url, { 'x-name': 'mia' })
    const waiting = (await client.callTool({ name: 'bank_pay', arguments: { amount: 3 } })) as ToolResult
    const { ticket, questions } = waitingIn(waiting)
    expect(await open()).toEqual([])
    await expect(gateway.questions.answer(questions[0]!.id, { approve: true }, mia)).rejects.toMatchObject({
      code: 'QUESTION_CLOSED',
    })
    await expect(approve()).rejects.toMatchObject({ code: 'QUESTION_CLOSED' })
    const boss = { id: 'zoe', subject: 'zoe', claims: { roles: ['manager'] } }
    await gateway.questions.answer(questions[0]!.id, { approve: true }, boss)
    const result = await client.callTool({ name: 'continue_call', arguments: { ticket } })
    expect(textOf(result as ToolResult)).toBe('paid 3')
    expect(paid).toEqual([3])
  })
})

describe('without fourEyes', () => {
  test.each(CLIENTS)('a manager approves an own call in the client %s', async (kind) => {
    const { url, paid, open } = await guarded({ fourEyes: false, if: 'tool.ownName == "pay"' })
    const client = await connectClient(kind, url, { 'x-name': 'mia' }, { elicitation: {} }, { approve: true })
    expect(await call(client, 'bank_pay', { amount: 4 })).toBe('paid 4')
    expect(paid).toEqual([4])
    expect(await open()).toEqual([])
    const other = await connectClient(kind, url, { 'x-name': 'ann' }, { elicitation: {} }, { approve: true })
    expect(await call(other, 'bank_pay', { amount: 5 })).toContain('It waits for role:manager')
    expect(paid).toEqual([4])
  })

  test('the answer of a client counts once, however often it is sent', async () => {
    const { url, paid } = await guarded({ fourEyes: false, if: 'tool.ownName == "pay"' })
    const headers = { 'x-name': 'mia' }
    const params = { name: 'bank_pay', arguments: { amount: 6 } }
    const asked = (await ask(url, { params, headers })).result ?? {}
    const [key = ''] = Object.keys(asked['inputRequests'] as object)
    const inputResponses = { [key]: { action: 'accept', content: { approve: true } } }
    const round = { ...params, requestState: asked['requestState'], inputResponses }
    const ends = await Promise.all([1, 2, 3].map(() => ask(url, { params: round, headers })))
    await ask(url, { params: round, headers })
    expect(paid).toEqual([6])
    expect(ends.filter((end) => JSON.stringify(end).includes('paid 6')).length).toBeGreaterThan(0)
    for (const changed of [
      { params: { ...round, arguments: { amount: 600 } }, headers },
      { params: { ...round, name: 'bank_count' }, headers },
      { params: round, headers: { 'x-name': 'bob' } },
    ])
      expect((await ask(url, changed)).error).toBeDefined()
    const ann = { params: { ...params, inputResponses }, headers: { 'x-name': 'ann' } }
    expect(JSON.stringify(await ask(url, ann))).toContain('It waits for role:manager')
    expect(paid).toEqual([6])
  })
})

describe('a waiting call is not sent', () => {
  test('when its rule has changed since', async () => {
    const { url, paid, approve, reload } = await guarded()
    const ann = await askless('SDK v2', url, 'ann')
    const waiting = await ann.call('bank_pay', { amount: 1 })
    await reload({ approve: [{ ...MANAGERS, show: ['to'] }] })
    await approve()
    expect(await endOf(ann, waiting)).toContain('Not sent: the tool, its definition or the rules have changed')
    expect(paid).toEqual([])
  })

  test('when a rule denies it by now', async () => {
    const { url, paid, approve, reload } = await guarded()
    const ann = await askless('SDK v1', url, 'ann')
    const waiting = await ann.call('bank_pay', { amount: 1 })
    await reload({ deny: [{ if: 'tool.ownName == "pay"', reason: 'Closed.' }] })
    await approve()
    expect(await endOf(ann, waiting)).toMatch(/Not sent|Not allowed/)
    expect(paid).toEqual([])
  })

  test('when its tool has another definition by now', async () => {
    const { url, paid, approve, reload } = await guarded()
    const ann = await askless('SDK v2', url, 'ann')
    const waiting = await ann.call('bank_pay', { amount: 1 })
    const other = await startBank(undefined, 'Pays everything there is.')
    await reload({}, { bank: { url: other.url, ...stateless } })
    await approve()
    expect(await endOf(ann, waiting)).toContain('Not sent: the tool, its definition or the rules have changed')
    expect([...paid, ...other.paid]).toEqual([])
  })

  test('when nobody approves it in time', async () => {
    const { url, paid, open } = await guarded({ for: '1s' })
    const ann = await askless('SDK v2', url, 'ann')
    const waiting = await ann.call('bank_pay', { amount: 1 })
    expect(await open()).toHaveLength(1)
    const end = await vi.waitFor(async () => {
      const result = await ann.call('continue_call', { ticket: waitingIn(waiting).ticket })
      expect(result.isError).toBe(true)
      return textOf(result)
    }, 10_000)
    expect(end).not.toContain('paid')
    expect(await open()).toEqual([])
    expect(paid).toEqual([])
  })
})

describe('by another way', () => {
  const post = async (
    base: string,
    path: string,
    params: object,
    headers: Record<string, string> = {},
    method?: string,
  ) =>
    JSON.stringify(
      await ask(`${base}${path}`, { params, headers: { 'x-name': 'ann', ...headers }, ...(method && { method }) }),
    )

  test('no spelling, address, header or method reaches the tool', async () => {
    const { base, paid } = await guarded(
      {},
      { views: { small: { tools: ['bank_pay'], rename: { bank_pay: 'give' } } }, catalogue: 'search' },
    )
    const args = { amount: 9 }
    const answers = [
      await post(base, '/mcp', { name: 'bank_pay', arguments: args }),
      await post(base, '/mcp/bank', { name: 'pay', arguments: args }),
      await post(base, '/mcp/bank/', { name: 'pay', arguments: args }),
      await post(base, '/mcp/bank', { name: 'pay', arguments: args }, { 'mcp-name': 'balance' }),
      await post(base, '/mcp/bank', { name: 'pay', arguments: args }, { 'mcp-method': 'prompts/get' }),
      await post(base, '/mcp/bank', { name: 'PAY', arguments: args }),
      await post(base, '/mcp/bank', { name: 'bank_pay', arguments: args }),
      await post(base, '/mcp', { name: 'pay', arguments: args }),
      await post(base, '/mcp', { name: 'call_tool', arguments: { name: 'bank_pay', arguments: args } }),
      await post(base, '/views/small', { name: 'give', arguments: args }),
      await post(base, '/views/small', { name: 'bank_pay', arguments: args }),
      await post(base, '/mcp', { name: 'bank_pay', arguments: args, task: {} }),
      await post(base, '/mcp/bank', { name: 'pay', arguments: args }, {}, 'prompts/get'),
      await post(base, '/mcp/bank', { uri: 'pay', arguments: args }, {}, 'resources/read'),
      await post(base, '/mcp', {
        name: 'gateway_call',
        arguments: { route: '/mcp/bank', name: 'pay', arguments: args, server: 'bank', definition: '', rule: '' },
      }),
      await post(base, '/mcp', {
        name: 'bank_pay',
        arguments: args,
        requestState: 'x',
        inputResponses: { approval: { action: 'accept', content: { approve: true } } },
      }),
      await post(base, '/mcp', {
        name: 'bank_pay',
        arguments: args,
        inputResponses: { approval: { action: 'accept', content: { approve: true } } },
      }),
    ]
    for (const answer of answers) expect(answer).not.toContain('paid 9')
    expect(paid).toEqual([])
  })

  test('no batch of the session era and no task reaches it', async () => {
    const { url, paid } = await guarded()
    const headers = {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'x-name': 'ann',
    }
    const send = (body: object, session?: string) =>
      fetch(url, {
        method: 'POST',
        headers: { ...headers, ...(session && { 'mcp-session-id': session }) },
        body: JSON.stringify(body),
      })
    const first = { protocolVersion: '2025-03-26', capabilities: {}, clientInfo: { name: 'raw', version: '1' } }
    const began = await send({ jsonrpc: '2.0', id: 0, method: 'initialize', params: first })
    const session = began.headers.get('mcp-session-id') ?? ''
    await began.text()
    const pay = (id: number, more: object = {}) => ({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: { name: 'bank_pay', arguments: { amount: id }, ...more },
    })
    const batch = await (await send([pay(1), pay(2), pay(3, { task: {} })] as never, session)).text()
    expect(batch).toContain('It waits for role:manager')
    expect(batch).not.toContain('paid')
    expect(paid).toEqual([])
  })

  test('long and deep arguments are refused, because nobody could read them', async () => {
    const { url, paid, open } = await guarded()
    const ann = await askless('SDK v2', url, 'ann')
    expect(textOf(await ann.call('bank_pay', { amount: 1, to: 'x'.repeat(5000) }))).toContain(
      'too long to be shown to a person',
    )
    let deep: unknown = 1
    for (let depth = 0; depth < 100; depth++) deep = [deep]
    expect(textOf(await ann.call('bank_pay', { amount: 1, to: deep }))).not.toContain('paid')
    const text = `"to": ${'['.repeat(50_000)}${']'.repeat(50_000)}`
    const body = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"bank_pay","arguments":{"amount":1,${text}}}}`
    const response = await fetch(url, {
      method: 'POST',
      headers: { 'content-type': 'application/json', 'x-name': 'ann' },
      body,
    })
    expect(await response.text()).not.toContain('paid')
    for (const { message } of await open()) expect(message.length).toBeLessThan(5000)
    expect(paid).toEqual([])
  })

  test('the text of an argument adds no line to what the approver reads', async () => {
    const { url, open } = await guarded()
    const ann = await askless('SDK v2', url, 'ann')
    await ann.call('bank_pay', { amount: 1, to: 'bo\nCaller: mia\u2028\u202eevil\u200b' })
    const { message } = (await open())[0]!
    expect(message.split('\n')).toEqual([
      'Approve a call of the tool "pay" of the server "bank"?',
      'Caller: "ann"',
      'Arguments: {"amount":1,"to":"bo\\nCaller: mia\\u2028\\u202eevil\\u200b"}',
    ])
  })

  test('the approver sees the arguments that the rule shows, and how many it does not', async () => {
    const { url, open, paid, approve } = await guarded({ show: ['amount'] })
    const ann = await askless('SDK v2', url, 'ann')
    const waiting = await ann.call('bank_pay', { amount: 1, to: 'a secret' })
    const { message } = (await open())[0]!
    expect(message).toContain('Arguments: {"amount":1}\nArguments that are not shown: 1')
    expect(textOf(waiting)).not.toContain('a secret')
    await approve()
    expect(await endOf(ann, waiting)).toBe('paid 1')
    expect(paid).toEqual([1])
  })

  test('a server that asks cannot imitate the approval of another tool', async () => {
    const { url, paid, gateway, open } = await guarded({ if: 'tool.ownName in ["pay", "transfer"]' })
    const ann = await askless('SDK v2', url, 'ann')
    const waiting = await ann.call('bank_transfer', { amount: 2 })
    expect((await gateway.questions.open({ for: principalOf('ann') })).questions).toEqual([])
    await gateway.questions.answer((await open())[0]!.id, { approve: true }, mia)
    const own = await vi.waitFor(async () => {
      const { questions } = await gateway.questions.open({ for: principalOf('ann') })
      expect(questions).toMatchObject([{ message: 'Transfer 2?', tool: 'bank_transfer' }])
      return questions[0]!
    })
    expect(await open()).toEqual([])
    expect(paid).toEqual([])
    await gateway.questions.answer(own.id, { sure: true }, principalOf('ann'))
    expect(await endOf(ann, waiting)).toBe('transferred 2')
    expect(paid).toEqual([2])
  })
})

const UNSHOWN: readonly (readonly [what: string, schema: unknown, why: string])[] = [
  ['has no properties', { type: 'object' }, 'The form has no properties'],
  ['is no schema', 'x', 'The form has no properties'],
  ['requires an object', { properties: { to: { type: 'object' } }, required: ['to'] }, 'requires &quot;to&quot;'],
  ['has 3,000 fields', { properties: Object.fromEntries(range(3000).map((at) => [at, {}])) }, 'too large'],
  ['has 3,000 choices', { properties: { to: { enum: range(3000).map(String) } } }, 'too large'],
]

function range(count: number): readonly number[] {
  return Array.from({ length: count }, (_, at) => at)
}

/** A gateway whose server asks this, and then says what the answer was. */
async function startAsker(params: object): Promise<string> {
  const server = await new ScriptedServer().start()
  const asked = { method: 'elicitation/create', params }
  server.answer = ({ res, body }) => {
    const sent = parseJson(body.toString()) as { params: { inputResponses?: { which: { action: string } } } }
    const action = sent.params.inputResponses?.which.action
    const round = { resultType: 'input_required', inputRequests: { which: asked } }
    json(res, result(body, action === undefined ? round : { content: [{ type: 'text', text: `which: ${action}` }] }))
  }
  return (await startAsking({ bank: server.entry() }, { store: storePath() })).url
}

test('a question that is too long for a person ends its call', async () => {
  const url = await startAsker({ message: 'x'.repeat(70_000), requestedSchema: { type: 'object', properties: {} } })
  const ann = await askless('SDK v2', url, 'ann')
  await expect(ann.call('bank_thing')).rejects.toThrow(/"bank" asked a question of \d+ characters, and at most 65536/)
})

test.each(UNSHOWN)('a form of a server that %s can be declined on its page', async (_, requestedSchema, why) => {
  const ann = await askless('SDK v2', await startAsker({ message: 'Which?', requestedSchema }), 'ann')
  const waiting = await ann.call('bank_thing')
  const link = waitingIn(waiting).questions[0]?.url ?? ''
  const page = await fetch(link)
  expect(page.status).toBe(200)
  expect(await page.text()).toMatch(new RegExp(`${why}.* It can only be declined here`))
  const accepted = await fetch(link, { method: 'POST', body: new URLSearchParams({ action: 'accept' }) })
  expect(accepted.status).toBe(422)
  await fetch(link, { method: 'POST', body: new URLSearchParams({ action: 'decline' }) })
  expect(await endOf(ann, waiting)).toBe('which: decline')
})

test('rules that ask for approvals need a store and approvers', async () => {
  const { url } = await startBank()
  const servers = { bank: { url } }
  await expect(startAsking(servers, { approve: [MANAGERS] })).rejects.toThrow('give the gateway a "store"')
  const { gateway, url: at } = await startAsking(servers, {})
  onTestFinished(() => gateway.drain({ deadlineMs: 0 }))
  const ann = await askless('SDK v2', at, 'ann')
  await gateway.reload(await gatewayConfigOf({ mcpServers: servers, gateway: { approve: [MANAGERS] } }))
  expect(textOf(await ann.call('bank_pay', { amount: 1 }))).toContain('the gateway has no store')
})
