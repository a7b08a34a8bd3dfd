import { randomBytes } from 'node:crypto'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { createServer, type Listening, type Server, type ServerOptions } from 'pannier/server'
import { createKeyring, memoryLedger, newKey, rotationSteps } from 'pannier/state'
import { z } from 'zod'
import { proves } from '../proves.ts'
import { call, post } from '../fixtures/modernClient.ts'

const keys = newKey()
const sure = z.object({ ok: z.boolean() })
const accept = (content: Record<string, unknown>) => ({ action: 'accept', content })

let now = Date.now()
const servers: Server[] = []

async function start({
  secret = '',
  ...options
}: Partial<ServerOptions> & { secret?: string } = {}): Promise<Listening> {
  const server = createServer({ name: 'rounds', version: '1.0.0', keys, clock: () => now, logger: quiet, ...options })
  server.tool(
    'deploy',
    { description: 'Deploys', input: z.object({ service: z.string() }) },
    async ({ service }, ctx) => {
      ctx.progress(1, 2, 'asking')
      const { ok } = await ctx.ask('confirm', { message: `Deploy ${service}?`, schema: sure })
      return ok ? `${service} deployed` : 'nothing done'
    },
  )
  server.tool(
    'undeploy',
    { description: 'Undeploys', input: z.object({ service: z.string() }) },
    async ({ service }, ctx) => {
      const { ok } = await ctx.ask('confirm', { message: `Deploy ${service}?`, schema: sure })
      return `${service} ${ok}`
    },
  )
  server.tool('shopping', { description: 'Asks everything at once' }, async (_, ctx) => {
    const { size, colour } = await ctx.ask({
      size: { message: 'Size?', schema: z.object({ size: z.number() }) },
      colour: { message: 'Colour?', schema: z.object({ colour: z.enum(['red', 'blue']) }) },
    })
    const [{ roots }, said] = await Promise.all([
      ctx.roots('where').then((roots) => ({ roots })),
      ctx.sample('say', { messages: [{ role: 'user', content: { type: 'text', text: 'Say it' } }], maxTokens: 10 }),
    ])
    await ctx.visit('pay', 'https://shop.example.com/pay', 'Pay there')
    return `${size.size} ${colour.colour} ${roots[0]?.uri} ${said.model}`
  })
  server.tool('vault', { description: 'Keeps a secret beside what the caller writes' }, async (_, ctx) => {
    await ctx.step('secret', () => secret)
    await ctx.ask('note', { message: 'Note?', schema: z.object({ note: z.string() }) })
    await ctx.ask('confirm', { message: 'Sure?', schema: sure })
    return 'kept'
  })
  const size = z.object({ length: z.number(), unit: z.string().default('x') })
  server.tool('long', { description: 'Returns much', input: size }, ({ unit, length }) => unit.repeat(length))
  server.tool('raw', { description: 'Three ways' }, async (_, ctx) => {
    const result = await ctx.elicit('confirm', { message: 'Sure?', schema: sure })
    return result.action === 'accept' ? `accept ${result.content.ok}` : result.action
  })
  server.tool('restless', { description: 'Never asks the same' }, async (_, ctx) => {
    await ctx.ask('confirm', { message: `Is it ${performance.now()}?`, schema: sure })
    return 'never'
  })
  server.tool('can', { description: 'Says what the client can do' }, async (_, ctx) =>
    ['elicitation', 'elicitation.url', 'sampling', 'roots'].map((name) => String(ctx.can(name))).join(' '),
  )
  server.prompt('greet', { description: 'Greets' }, async (_, ctx) => {
    const { name } = await ctx.ask('name', { message: 'Who?', schema: z.object({ name: z.string() }) })
    return `Greet ${name}`
  })
  server.resource('test://secret', { name: 'secret', ttlMs: 60_000, cacheScope: 'public' }, async (_, ctx) => {
    const { ok } = await ctx.ask('confirm', { message: 'Read it?', schema: sure })
    return ok ? 'the secret' : 'nothing'
  })
  servers.push(server)
  return server.listen()
}

const quiet = { debug() {}, info() {}, warn() {}, error() {} }

let one: Listening
let two: Listening

beforeAll(async () => {
  one = await start()
  two = await start()
})

afterAll(async () => {
  await Promise.all(servers.map((server) => server.drain()))
})

async function askedOf(url = one.url, headers: Record<string, string> = {}): Promise<string> {
  const { message } = await call(url, 'deploy', { service: 'web' }, { headers })
  expect(message.result.resultType).toBe('input_required')
  return message.result.requestState
}

const retry = (requestState: unknown, content: Record<string, unknown> = { ok: true }) => ({
  params: { requestState, inputResponses: { confirm: accept(content) } },
})

describe('a call in rounds', () => {
  proves('MRTR-14 MRTR-16 MRTR-17', 'a question is a plain response with its requests and a state', async () => {
    const { status, type, message } = await call(one.url, 'deploy', { service: 'web' })
    expect([status, type]).toEqual([200, 'application/json'])
    expect(message.result.inputRequests.confirm.method).toBe('elicitation/create')
    expect(typeof message.result.requestState).toBe('string')
  })

  proves('MRTR-14 MRTR-15', 'on a stream a question is the last message', async () => {
    const { type, messages } = await call(one.url, 'deploy', { service: 'web' }, { meta: { progressToken: 'p' } })
    expect(type).toBe('text/event-stream')
    expect(messages.map((message) => message.method ?? message.result.resultType)).toEqual([
      'notifications/progress',
      'input_required',
    ])
  })

  proves('MRTR-9 MRTR-10', 'another instance finishes the call from the retry alone, under a new id', async () => {
    const requestState = await askedOf()
    const { message } = await call(two.url, 'deploy', { service: 'web' }, { ...retry(requestState), id: 'another' })
    expect(message).toMatchObject({
      id: 'another',
      result: { resultType: 'complete', content: [{ text: 'web deployed' }] },
    })
  })

  proves(
    'MRTR-1 MRTR-2',
    'questions of every kind go out together under their keys, and their answers come back so',
    async () => {
      const capabilities = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} }
      const first = await call(one.url, 'shopping', {}, { capabilities })
      expect(Object.keys(first.message.result.inputRequests)).toEqual(['size', 'colour'])
      const inputResponses = { size: accept({ size: 42 }), colour: accept({ colour: 'red' }) }
      const second = await call(
        two.url,
        'shopping',
        {},
        { capabilities, params: { requestState: first.message.result.requestState, inputResponses } },
      )
      expect(Object.keys(second.message.result.inputRequests)).toEqual(['where', 'say'])
      const more = {
        where: { roots: [{ uri: 'file:///a' }] },
        say: { role: 'assistant', model: 'm1', content: { type: 'text', text: 'x' } },
      }
      const third = await call(
        one.url,
        'shopping',
        {},
        { capabilities, params: { requestState: second.message.result.requestState, inputResponses: more } },
      )
      expect(third.message.result.inputRequests.pay.params).toMatchObject({
        mode: 'url',
        url: 'https://shop.example.com/pay',
      })
      const last = await call(
        two.url,
        'shopping',
        {},
        {
          capabilities,
          params: { requestState: third.message.result.requestState, inputResponses: { pay: { action: 'accept' } } },
        },
      )
      expect(last.message.result.content[0].text).toBe('42 red file:///a m1')
    },
  )

  proves('MRTR-6', 'prompts and resources ask like tools do', async () => {
    const prompt = await post(one.url, { method: 'prompts/get', params: { name: 'greet' } })
    const greeted = await post(two.url, {
      method: 'prompts/get',
      params: {
        name: 'greet',
        requestState: prompt.message.result.requestState,
        inputResponses: { name: accept({ name: 'Ada' }) },
      },
    })
    expect(greeted.message.result.messages[0].content.text).toBe('Greet Ada')
    const resource = await post(one.url, { method: 'resources/read', params: { uri: 'test://secret' } })
    expect(resource.message.result).not.toHaveProperty('ttlMs')
    const { params } = retry(resource.message.result.requestState)
    const read = await post(two.url, { method: 'resources/read', params: { uri: 'test://secret', ...params } })
    expect(read.message.result).toMatchObject({ contents: [{ text: 'the secret' }], ttlMs: 0, cacheScope: 'private' })
  })

  test('a decline becomes a result that says what was declined, unless the handler wants to know', async () => {
    const requestState = await askedOf()
    const declined = await call(
      one.url,
      'deploy',
      { service: 'web' },
      { params: { requestState, inputResponses: { confirm: { action: 'decline' } } } },
    )
    expect(declined.message.result).toMatchObject({
      isError: true,
      content: [{ text: 'The question "confirm" was declined.' }],
    })
    const first = await call(one.url, 'raw')
    const cancelled = await call(
      two.url,
      'raw',
      {},
      {
        params: { requestState: first.message.result.requestState, inputResponses: { confirm: { action: 'cancel' } } },
      },
    )
    expect(cancelled.message.result.content[0].text).toBe('cancel')
  })

  test('what a client did not declare is not asked of it', async () => {
    const { status, message } = await call(one.url, 'deploy', { service: 'web' }, { capabilities: {} })
    expect([status, message.error.code]).toEqual([400, -32021])
    expect(message.error.data).toEqual({ requiredCapabilities: { elicitation: { form: {} } } })
    const can = await call(one.url, 'can', {}, { capabilities: { elicitation: {}, roots: {} } })
    expect(can.message.result.content[0].text).toBe('true false false true')
  })

  proves('MRTR-11', 'a state on another call has no effect but an error', async () => {
    const requestState = await askedOf()
    for (const [name, args] of [
      ['undeploy', { service: 'web' }],
      ['deploy', { service: 'other' }],
    ] as const) {
      const { message } = await call(one.url, name, args, retry(requestState))
      expect(message.error.code).toBe(-32602)
    }
  })
})

describe('a state', () => {
  const refused = async (requestState: unknown, url = one.url, headers = {}): Promise<string> => {
    const { message } = await call(url, 'deploy', { service: 'web' }, { ...retry(requestState), headers })
    expect(message.error?.code).toBe(-32602)
    return message.error.message
  }

  proves(
    'MRTR-18 MRTR-22 ST-10',
    'every bad state is refused with the same words, whatever is wrong with it',
    async () => {
      const good = await askedOf()
      const words = new Set<string>()
      for (const bad of [
        `${good}x`,
        good.slice(0, -1),
        `B${good.slice(1)}`,
        'eyJvayI6dHJ1ZX0',
        '',
        JSON.stringify({ confirm: true }),
      ]) {
        words.add(await refused(bad))
      }
      expect(words.size).toBe(1)
      for (const bad of [3, null, {}, ['x']]) expect(await refused(bad)).toContain('"requestState"')
    },
  )

  proves('ST-7 MRTR-19', 'a state is encrypted, so nothing of what was gathered can be read from it', async () => {
    const capabilities = { elicitation: {}, sampling: {}, roots: {} }
    const first = await call(one.url, 'shopping', {}, { capabilities })
    const inputResponses = { size: accept({ size: 987_654 }), colour: accept({ colour: 'red' }) }
    const params = { requestState: first.message.result.requestState, inputResponses }
    const second = await call(one.url, 'shopping', {}, { capabilities, params })
    const state: string = second.message.result.requestState
    for (const spelling of [state, Buffer.from(state, 'base64url').toString('latin1')]) {
      expect(spelling).not.toMatch(/987654|colour|shopping/)
    }
  })

  proves('MRTR-20 MRTR-21', 'a state given to one person is refused when another presents it', async () => {
    const { url } = await start({ principal: ({ header }) => ({ id: header('x-user') ?? 'nobody' }) })
    const requestState = await askedOf(url, { 'x-user': 'ann' })
    await refused(requestState, url, { 'x-user': 'bob' })
    const { message } = await call(
      url,
      'deploy',
      { service: 'web' },
      { ...retry(requestState), headers: { 'x-user': 'ann' } },
    )
    expect(message.result.content[0].text).toBe('web deployed')
  })

  proves('ST-11', 'a state is refused when its time is up', async () => {
    const requestState = await askedOf()
    now += 3_601_000
    await refused(requestState)
  })

  test('a call ends at maxCallSeconds, however fresh its state is', async () => {
    const { url } = await start({ ttlSeconds: 60, maxCallSeconds: 100 })
    const again = (state: string, answer: Record<string, unknown>) =>
      call(url, 'deploy', { service: 'web' }, retry(state, answer))
    const first = (await call(url, 'deploy', { service: 'web' })).message.result.requestState
    now += 55_000
    const second = (await again(first, { ok: 'perhaps' })).message.result.requestState
    now += 40_000
    expect((await again(second, { ok: true })).message.result.content[0].text).toBe('web deployed')
    now += 10_000
    expect((await again(second, { ok: true })).message.error.code).toBe(-32602)
  })

  test('the length of a state tells nothing of what it holds', async () => {
    const secret = randomBytes(1500).toString('hex')
    const { url } = await start({ secret })
    const first = (await call(url, 'vault', {})).message.result.requestState
    const lengthFor = async (note: string) => {
      const inputResponses = { note: accept({ note }) }
      const { message } = await call(url, 'vault', {}, { params: { inputResponses, requestState: first } })
      return message.result.requestState.length
    }
    const guesses = [secret.slice(0, 2000), randomBytes(1000).toString('hex')]
    const [right, wrong] = await Promise.all(guesses.map(lengthFor))
    expect(right).toBe(wrong)
  })

  test('keys rotate without a lost call', async () => {
    const { spread, promote, retire } = rotationSteps(keys)
    const requestState = await askedOf()
    for (const [ring, works] of [
      [spread, true],
      [promote, true],
      [retire, false],
    ] as const) {
      const { url } = await start({ keys: createKeyring(ring) })
      const { message } = await call(url, 'deploy', { service: 'web' }, retry(requestState))
      expect(message.result !== undefined).toBe(works)
    }
  })
})

test('a result over the limit is an error that says what to do', async () => {
  const { url } = await start({ maxResultBytes: 3000 })
  const lengths = async (length: number) => (await call(url, 'long', { length })).message.result
  expect((await lengths(2000)).isError).toBeUndefined()
  const { isError, content } = await lengths(3000)
  expect([isError, content[0].text]).toEqual([true, expect.stringContaining('larger than 3000 bytes. Return less')])
  expect((await call(url, 'long', { length: 1000, unit: '€' })).message.result.isError).toBe(true)
})

describe('a once with an id', () => {
  test('is claimed for its caller, its tool and its server alone', async () => {
    const ledger = memoryLedger()
    const ran: string[] = []
    const serve = async (name: string): Promise<(who: string, tool: string, id: string) => Promise<string>> => {
      const server = createServer({
        name,
        version: '1.0.0',
        keys,
        ledger,
        logger: quiet,
        principal: ({ header }) => ({ id: header('x-who') ?? '' }),
      })
      servers.push(server)
      for (const tool of ['pay', 'refund']) {
        const input = z.object({ id: z.string() })
        server.tool(tool, { description: 'Pays', input }, ({ id }, ctx) =>
          ctx.once('move', () => `${name} ${tool} ${id} ${ran.push(id)}`, { id }),
        )
      }
      const { url } = await server.listen()
      return async (who, tool, id) =>
        (await call(url, tool, { id }, { headers: { 'x-who': who } })).message.result.content[0].text
    }
    const [shop, other] = [await serve('shop'), await serve('other')]
    expect(await shop('ann', 'pay', '7')).toBe('shop pay 7 1')
    expect(await shop('ann', 'pay', '7')).toBe('shop pay 7 1')
    expect(await shop('bob', 'pay', '7')).toBe('shop pay 7 2')
    expect(await shop('ann', 'refund', '7')).toBe('shop refund 7 3')
    expect(await other('ann', 'pay', '7')).toBe('other pay 7 4')
    expect(await shop('ann', 'pay', '')).toContain('A key must be a string')
    expect(ran).toHaveLength(4)
  })
})

describe('asking again', () => {
  proves('MRTR-40 MRTR-41', 'input responses that are no map are a protocol error', async () => {
    const requestState = await askedOf()
    for (const inputResponses of [3, null, 'x', []]) {
      const { message } = await call(
        one.url,
        'deploy',
        { service: 'web' },
        { params: { requestState, inputResponses } },
      )
      expect(message.error.code).toBe(-32602)
    }
  })

  test('a question that changes in every round ends after a bounded number of rounds', async () => {
    const { url } = await start({ maxRounds: 4 })
    let { message } = await call(url, 'restless')
    for (let round = 0; round < 3 && message.result !== undefined; round++) {
      message = (await call(url, 'restless', {}, retry(message.result.requestState))).message
    }
    expect(message.error.message).toContain('after 4 rounds')
  })

  proves('MRTR-45', 'a client that keeps giving wrong answers is not asked for ever', async () => {
    let { message } = await call(one.url, 'deploy', { service: 'web' })
    let rounds = 0
    while (message.result.resultType === 'input_required' && rounds < 20) {
      rounds++
      message = (
        await call(one.url, 'deploy', { service: 'web' }, retry(message.result.requestState, { ok: 'perhaps' }))
      ).message
    }
    expect([rounds, message.result.isError]).toEqual([5, true])
    expect(message.result.content[0].text).toContain('after it was asked 5 times')
  })
})
