/** Sessions of the older revisions: negotiated versions, sealed ids, resumable streams, GET and DELETE. */
import { createServer, localBus } from 'pannier/server'
import { newKey } from 'pannier/state'
import { afterAll, beforeAll, describe, expect, test } from 'vitest'
import { proves } from '../proves.ts'
import { type Instance, KEYS, quiet, startHere } from './fixtures/instances.ts'
import { README } from './fixtures/tools.ts'
import { post, RawSession } from './fixtures/rawSession.ts'

const asking = { elicitation: {}, sampling: {}, roots: {} }
const text = (value: string) => ({ result: { content: [{ type: 'text', text: value }] } })
const named = (name: string) => ({ action: 'accept', content: { name } })

let one: Instance
let two: Instance

beforeAll(async () => {
  const bus = localBus() // stands for a broker between the two
  ;[one, two] = await Promise.all([startHere({ bus }), startHere({ bus })])
})
afterAll(() => {
  one.close()
  two.close()
})

describe('initialize', () => {
  test.each(['2025-11-25', '2025-06-18', '2025-03-26', '2024-11-05'])(
    'agrees on %s, and the session works',
    async (version) => {
      const session = await RawSession.begin(one.url, { version, capabilities: asking })
      expect(session.initialized.result).toMatchObject({ protocolVersion: version, serverInfo: { name: 'interop' } })
      expect(await session.request('tools/call', { name: 'echo', arguments: { text: 'hi' } })).toMatchObject(text('hi'))
      const call = await session.call('greet')
      await session.answer(await call.next(), named('Ann'))
      expect(await call.next()).toMatchObject(text('Hello Ann'))
    },
  )

  test('offers the newest session revision for a version nobody knows', async () => {
    const session = await RawSession.begin(one.url, { version: '1999-01-01' })
    expect(session.initialized.result).toMatchObject({ protocolVersion: '2025-11-25' })
  })
})

describe('a session id', () => {
  test('is good at any instance with the same keys, request by request', async () => {
    const session = await RawSession.begin(one.url)
    for (let turn = 0; turn < 4; turn++) {
      session.url = turn % 2 === 0 ? two.url : one.url
      const echoed = await session.request('tools/call', { name: 'echo', arguments: { text: `turn ${turn}` } })
      expect(echoed).toMatchObject(text(`turn ${turn}`))
    }
  })

  test('is refused where the keys are others, and when it was changed', async () => {
    const stranger = await startHere({ keys: newKey() })
    const session = await RawSession.begin(one.url)
    const ping = { jsonrpc: '2.0', id: 1, method: 'ping' }
    expect((await post(stranger.url, session.headers, ping)).status).toBe(404)
    const changed = `${session.id.slice(0, -1)}${session.id.endsWith('A') ? 'B' : 'A'}`
    expect((await post(one.url, { ...session.headers, 'mcp-session-id': changed }, ping)).status).toBe(404)
    stranger.close()
  })

  test('is of no use to another principal', async () => {
    const guarded = await startHere({ principal: ({ header }) => ({ id: header('x-user') ?? 'nobody' }) })
    const begun = await RawSession.begin(guarded.url)
    const as = async (user: string) =>
      (await post(guarded.url, { ...begun.headers, 'x-user': user }, { jsonrpc: '2.0', id: 1, method: 'ping' })).status
    expect([await as('nobody'), await as('eve')]).toEqual([200, 404])
    guarded.close()
  })

  test('is dead after DELETE, at every instance on the bus, and its calls and streams end', async () => {
    const session = await RawSession.begin(one.url, { capabilities: asking })
    const listening = await session.listen()
    const call = await session.call('greet')
    await call.next()
    session.url = two.url
    expect((await session.end()).status).toBe(204)
    expect(await listening.rest()).toEqual([])
    expect(await call.rest()).toEqual([expect.objectContaining({ method: 'notifications/cancelled' })])
    for (const { url } of [one, two]) {
      session.url = url
      expect((await session.send({ jsonrpc: '2.0', id: 9, method: 'ping' })).status).toBe(404)
      expect((await session.listen()).response.status).toBe(404)
    }
    expect(one.server.inFlight).toBe(0)
  })
})

describe('a stream', () => {
  const counting = { name: 'count', _meta: { progressToken: 'steps' } }
  const step = (progress: number) => ({ method: 'notifications/progress', params: { progress } })

  test('that was cut in the middle of a call is resumed where it was', async () => {
    const session = await RawSession.begin(one.url)
    const call = await session.open('tools/call', counting)
    expect(await call.next()).toMatchObject(step(1))
    const seen = call.lastEventId
    call.close()
    await session.request('tools/call', { name: 'heard' })
    const resumed = await session.listen(seen)
    expect(await resumed.rest()).toMatchObject([step(2), step(3), text('counted')])
    expect((await session.listen(resumed.lastEventId)).response.status).toBe(405)
  })

  test('that the server lets go is resumed from its first event', async () => {
    const session = await RawSession.begin(one.url)
    const call = await session.call('break_off')
    expect(await call.rest()).toEqual([])
    const resumed = await session.listen(call.lastEventId)
    await session.request('tools/call', { name: 'heard' })
    expect(await resumed.rest()).toMatchObject([text('after the break')])
  })

  test("is nobody else's to resume", async () => {
    const session = await RawSession.begin(one.url, { capabilities: asking })
    const other = await RawSession.begin(one.url, { capabilities: asking })
    const call = await session.call('greet')
    await call.next()
    const { response } = await other.listen(call.lastEventId)
    expect(response.status).toBe(400)
    call.close()
    await session.end()
  })

  proves(
    'RA-10',
    "a session's own GET stream carries notifications, also those it missed while it was away",
    async () => {
      const session = await RawSession.begin(one.url)
      await session.request('resources/subscribe', { uri: README })
      const first = await session.listen()
      one.server.updated(README)
      const updated = { method: 'notifications/resources/updated', params: { uri: README } }
      expect(await first.next()).toMatchObject(updated)
      first.close()
      one.server.updated(README)
      one.server.changed('prompts')
      const second = await session.listen(first.lastEventId)
      expect(await second.next()).toMatchObject(updated)
      expect(await second.next()).toMatchObject({ method: 'notifications/prompts/list_changed' })
      one.server.changed('tools')
      expect(await second.next()).toMatchObject({ method: 'notifications/tools/list_changed' })
      second.close()
      session.url = two.url
      const third = await session.listen(second.lastEventId)
      two.server.updated(README)
      expect(await third.next()).toMatchObject(updated)
      await session.end()
    },
  )
})

describe('a cancelled call', () => {
  test('is told so and gets no response, and its questions are taken back', async () => {
    const session = await RawSession.begin(one.url, { capabilities: asking })
    const held = session.open('tools/call', { name: 'hold' })
    await session.request('tools/call', { name: 'holding' })
    await session.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } })
    expect(await (await held).rest()).toEqual([])
    expect(await session.request('tools/call', { name: 'released' })).toMatchObject({ result: { content: [{}] } })

    const asked = await session.call('greet')
    const question = await asked.next()
    await session.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 4 } })
    expect(await asked.rest()).toMatchObject([
      { method: 'notifications/cancelled', params: { requestId: question.id } },
    ])
  })

  test('can be cancelled only by its own session', async () => {
    const session = await RawSession.begin(one.url, { capabilities: asking })
    const other = await RawSession.begin(one.url)
    const call = await session.call('greet')
    const question = await call.next()
    const cancel = { jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } }
    await other.send(cancel)
    await post(one.url, {}, cancel)
    expect((await other.answer(question, named('Eve'))).status).toBe(202)
    await session.answer(question, named('Ann'))
    expect(await call.next()).toMatchObject(text('Hello Ann'))
  })

  test('is not looked for at other instances by an id that no request can have', async () => {
    const bus = localBus()
    const lengths: number[] = []
    bus.subscribe((event) => event.kind === 'cancelled' && lengths.push(String(event.request).length))
    const instance = await startHere({ bus })
    const session = await RawSession.begin(instance.url)
    for (const length of [1024, 1025, 3_000_000]) {
      const params = { requestId: 'x'.repeat(length) }
      expect((await session.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params })).status).toBe(202)
    }
    instance.close()
    expect(lengths).toEqual([1024])
  })

  test('of very many that nobody made is looked for at other instances some times a second only', async () => {
    const bus = localBus()
    let published = 0
    bus.subscribe((event) => event.kind === 'cancelled' && published++)
    const instance = await startHere({ bus, clock: () => 1_800_000_000_000 })
    const cancel = (session: RawSession, requestId: number) =>
      session.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId } })
    const [greedy, other] = [await RawSession.begin(instance.url), await RawSession.begin(instance.url)]
    for (let count = 0; count < 120; count++) await cancel(greedy, count)
    expect(published).toBe(100)
    await cancel(other, 1)
    instance.close()
    expect(published).toBe(101)
  })
})

describe('a subscription', () => {
  test.each(['resources/subscribe', 'resources/unsubscribe'])(
    'is refused for an endless address, and where there are no resources: %s',
    async (method) => {
      const session = await RawSession.begin(one.url)
      const long = `test://${'x'.repeat(2048)}`
      expect((await session.request(method, { uri: long })).error).toMatchObject({ code: -32602 })
      expect(await session.request(method, { uri: long.slice(0, 2048) })).toMatchObject({ result: {} })
      const bare = createServer({ name: 'interop', version: '1.0.0', keys: KEYS, logger: quiet })
      const { url } = await bare.listen({ drainOnTerm: false })
      session.url = url
      expect((await session.request(method, { uri: README })).error).toMatchObject({ code: -32601 })
      await bare.drain()
    },
  )

  test('is refused when the session watches as much as it may', async () => {
    const session = await RawSession.begin(one.url)
    const addresses = Array.from({ length: 33 }, (_, number) => `test://${number}/`.padEnd(2048, '.'))
    const answers = await Promise.all(addresses.map((uri) => session.request('resources/subscribe', { uri })))
    expect(answers.filter(({ error }) => error !== undefined)).toMatchObject([{ error: { code: -32602 } }])
  })
})

describe('a header that the session era does not need', () => {
  const call = { jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'echo', arguments: { text: 'hi' } } }
  test.each([
    [{ 'mcp-method': 'tools/call', 'mcp-name': 'echo' }, 200],
    [{ 'mcp-name': '=?base64?ZWNobw==?=' }, 200],
    [{ 'mcp-method': 'tools/list' }, 400],
    [{ 'mcp-name': 'harmless' }, 400],
    [{ 'mcp-method': 'tools/call', 'mcp-name': 'echo, echo' }, 400],
  ])('must agree with the body where it is there: %j', async (headers, status) => {
    const session = await RawSession.begin(one.url)
    for (const ofSession of [session.headers, {}]) {
      const response = await post(one.url, { ...ofSession, ...headers }, call)
      expect([response.status, await response.json()]).toMatchObject([
        status,
        status === 200 ? text('hi') : { id: 1, error: { code: -32020 } },
      ])
    }
  })
})

test('a `_meta` that is no object is refused by name', async () => {
  const session = await RawSession.begin(one.url)
  const refused = await session.request('tools/call', { name: 'echo', arguments: { text: 'hi' }, _meta: 7 })
  expect(refused.error).toMatchObject({ code: -32602, message: expect.stringContaining('_meta') })
})

test('a client without a session is served, but is asked nothing', async () => {
  const call = (name: string) => ({
    jsonrpc: '2.0',
    id: 1,
    method: 'tools/call',
    params: { name, arguments: { text: 'hi' } },
  })
  expect(await (await post(one.url, {}, call('echo'))).json()).toMatchObject(text('hi'))
  expect(await (await post(one.url, {}, call('greet'))).json()).toMatchObject({ error: { code: -32021 } })
  expect((await fetch(one.url, { headers: { accept: 'text/event-stream' } })).status).toBe(405)
  expect((await fetch(one.url, { method: 'DELETE' })).status).toBe(400)
})
