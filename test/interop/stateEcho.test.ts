/** `state` on pushed questions (SEP-1685), toward clients that declared that they echo it. */
import { memoryCarryStore, memoryLedger } from 'pannier/state'
import { afterAll, beforeAll, expect, test } from 'vitest'
import { proves } from '../proves.ts'
import { type Instance, startHere } from './fixtures/instances.ts'
import type { Incoming, MessageStream } from './fixtures/messageStream.ts'
import { RawSession } from './fixtures/rawSession.ts'

const asking = { elicitation: {}, sampling: {}, roots: {} }
const echoing = (echo: object = {}) => ({ ...asking, experimental: { 'dev.pannier/state-echo': echo } })
const begin = (url: string, capabilities: object = echoing()) => RawSession.begin(url, { capabilities })
const text = (value: string) => ({ result: { content: [{ type: 'text', text: value }] } })
const accept = (content: object) => ({ action: 'accept', content })
const item = { workItemId: 4522, fields: { 'System.State': 'Resolved' } }
const DONE = 'Bug #4522 resolved as Duplicate of Bug #4301. State set to Resolved and duplicate link created.'

let one: Instance
let two: Instance

beforeAll(async () => {
  ;[one, two] = await Promise.all([startHere(), startHere()])
})
afterAll(() => {
  one.close()
  two.close()
})

/** Answers the first question of the work-item flow; gives the second. */
async function toSecondQuestion(session: RawSession, call: MessageStream): Promise<Incoming> {
  const { id, state } = await call.next()
  await session.answer({ id: id! }, accept({ resolution: 'Duplicate' }), { state })
  return call.next()
}

proves(
  'ST-1 ST-12 ST-13 ST-19',
  'each pushed question carries its own state, as a string beside its params',
  async () => {
    const session = await begin(one.url)
    const calls = await Promise.all(['greet_two', 'sum_up', 'folders'].map((name) => session.call(name)))
    const [pair, sampling, roots] = calls as [MessageStream, MessageStream, MessageStream]
    const questions = [await pair.next(), await pair.next(), await sampling.next(), await roots.next()]
    const states = questions.map(({ state }) => state)
    expect(new Set(states).size).toBe(4)
    for (const state of states) expect(state).toEqual(expect.any(String))
    expect(questions[3]).toEqual({
      jsonrpc: '2.0',
      id: expect.any(String),
      method: 'roots/list',
      state: expect.any(String),
    })
    await session.answer(questions[3]!, { roots: [{ uri: 'file:///work' }] }, { state: states[3] })
    expect(await roots.next()).toMatchObject(text('file:///work'))
    await session.end()
  },
)

proves('ST-14', 'the server advertises nothing for state; the client alone says that it echoes', async () => {
  const session = await begin(one.url)
  expect(JSON.stringify(session.initialized)).not.toMatch(/\bstate\b|state-|requestState/i)
  expect(await (await session.call('greet')).next()).toHaveProperty('state')
  await session.end()
})

proves('ST-15', 'a client that did not declare the echo never sees a state', async () => {
  for (const capabilities of [asking, { ...asking, experimental: {} }, echoing({ at: ['elsewhere'] })]) {
    const session = await begin(one.url, capabilities)
    const question = await (await session.call('greet')).next()
    expect(JSON.stringify(question)).not.toMatch(/state/i)
    await session.end()
  }
})

proves('ST-16', 'an answer without the echo is served by the process that asked', async () => {
  const session = await begin(one.url)
  const call = await session.call('update_work_item', item)
  await session.answer(await call.next(), accept({ resolution: 'Duplicate' }))
  await session.answer(await call.next(), accept({ duplicateOfId: 4301 }))
  expect(await call.next()).toMatchObject(text(DONE))
})

proves('ST-12', 'a client that can echo only in _meta gets its state there', async () => {
  const session = await begin(one.url, echoing({ at: ['meta'] }))
  const roots = await session.call('folders')
  const question = await roots.next()
  expect(question).not.toHaveProperty('state')
  const _meta = question.params?.['_meta']
  expect(_meta).toEqual({ 'dev.pannier/state': expect.any(String) })
  session.url = two.url
  const resumed = await session.listen(roots.lastEventId)
  await session.answer(question, { roots: [{ uri: 'file:///work' }], _meta })
  expect(await resumed.next()).toMatchObject(text('file:///work'))
})

test.each(['before', 'after'])(
  'a call goes on elsewhere when its client resumes the stream %s it answers',
  async (when) => {
    const session = await begin(one.url)
    const call = await session.call('update_work_item', item)
    const { id, state } = await toSecondQuestion(session, call)
    call.close()
    session.url = two.url
    const early = when === 'before' ? await session.listen(call.lastEventId) : undefined
    await session.answer({ id: id! }, accept({ duplicateOfId: 4301 }), { state })
    const resumed = early ?? (await session.listen(call.lastEventId))
    expect(await resumed.rest()).toMatchObject([text(DONE)])
  },
)

test('two questions at once, both answered elsewhere, are one call there', async () => {
  const session = await begin(one.url)
  const call = await session.call('greet_two')
  const questions = [await call.next(), await call.next()]
  call.close()
  session.url = two.url
  const resumed = await session.listen(call.lastEventId)
  const answers = questions.map((question, index) =>
    session.answer(question, accept({ name: ['Ann', 'Bob'][index] }), { state: question.state }),
  )
  await Promise.all(answers)
  const messages = await resumed.rest()
  expect(messages.at(-1)).toMatchObject(text('Hello Ann and Bob'))
  expect(messages.filter(({ result }) => result !== undefined)).toHaveLength(1)
})

proves('ST-8', 'a changed, foreign or misplaced state is refused, and its question stays open', async () => {
  const session = await begin(one.url)
  const other = await begin(one.url)
  const call = await session.call('greet')
  const question = await call.next()
  const foreign = await (await other.call('greet')).next()
  const another = await (await session.call('greet')).next()
  const state = question.state as string
  const answer = accept({ name: 'Eve' })
  for (const bad of [`${state}x`, flipped(state), foreign.state, another.state, { plain: true }, 7]) {
    expect((await session.answer(question, answer, { state: bad })).status).toBe(400)
  }
  expect((await other.answer(question, answer, { state })).status).toBe(400)
  session.url = two.url
  expect((await session.answer(question, answer, { state: flipped(state) })).status).toBe(400)
  session.url = one.url
  await session.answer(question, accept({ name: 'Ann' }), { state })
  expect(await call.next()).toMatchObject(text('Hello Ann'))
})

proves('ST-11', 'an answer that comes twice runs nothing twice, while the call runs and after it', async () => {
  const instance = await startHere()
  const session = await begin(instance.url)
  const call = await session.call('update_work_item', item)
  const first = await call.next()
  const answered = () => session.answer(first, accept({ resolution: 'Duplicate' }), { state: first.state })
  await answered()
  await answered()
  const second = await call.next()
  await answered()
  const finished = () => session.answer(second, accept({ duplicateOfId: 4301 }), { state: second.state })
  await Promise.all([finished(), finished()])
  expect(await call.rest()).toMatchObject([text(DONE)])
  await finished()
  await answered()
  expect(await session.request('tools/call', { name: 'links' })).toMatchObject(text('1 links'))
  expect(instance.server.inFlight).toBe(0)
  instance.close()
})

proves(
  'ST-11',
  'an answer counts for the question it was given to, not for the next one under the same key',
  async () => {
    const session = await begin(one.url)
    const call = await session.call('greet')
    const first = await call.next()
    await session.answer(first, accept({ name: 7 }), { state: first.state })
    const second = await call.next()
    await session.answer(first, accept({ name: 'Eve' }), { state: first.state })
    await session.answer(second, accept({ name: 'Ann' }), { state: second.state })
    expect(await call.rest()).toMatchObject([text('Hello Ann')])
  },
)

proves('ST-11', 'instances that share a ledger revive a call once between them', async () => {
  const ledger = memoryLedger()
  const instances = await Promise.all([startHere({ ledger }), startHere({ ledger }), startHere({ ledger })])
  const session = await begin(instances[0].url)
  const call = await session.call('update_work_item', item)
  const { id, state } = await toSecondQuestion(session, call)
  const streams: MessageStream[] = []
  for (const { url } of instances.slice(1)) {
    session.url = url
    streams.push(await session.listen(call.lastEventId))
    await session.answer({ id: id! }, accept({ duplicateOfId: 4301 }), { state })
  }
  expect(await streams[0]?.rest()).toMatchObject([text(DONE)])
  expect(instances[2].server.inFlight).toBe(0)
  for (const instance of instances) instance.close()
})

test('a client that answers elsewhere with an error fails the call there, as it does in place', async () => {
  const session = await begin(one.url)
  const call = await session.call('greet')
  const { id, state } = await call.next()
  session.url = two.url
  const resumed = await session.listen(call.lastEventId)
  await session.send({ jsonrpc: '2.0', id, error: { code: -1, message: 'no window' }, state })
  expect(await resumed.rest()).toMatchObject([
    { result: { isError: true, ...text('The client could not answer.').result } },
  ])
})

proves('ST-16', 'with a store, a call goes on elsewhere even though its client echoes nothing', async () => {
  const store = memoryCarryStore()
  const instances = await Promise.all([startHere({ store }), startHere({ store })])
  const session = await begin(instances[0].url, asking)
  const call = await session.call('update_work_item', item)
  const second = await toSecondQuestion(session, call)
  expect(second).not.toHaveProperty('state')
  session.url = instances[1].url
  const resumed = await session.listen(call.lastEventId)
  await session.answer(second, accept({ duplicateOfId: 4301 }))
  expect(await resumed.rest()).toMatchObject([text(DONE)])
  for (const instance of instances) instance.close()
})

test('an expired state is refused', async () => {
  let now = Date.now()
  const clock = () => now
  const instances = await Promise.all([startHere({ clock }), startHere({ clock })])
  const session = await begin(instances[0].url)
  const call = await session.call('greet')
  const { id, state } = await call.next()
  now += 3_601_000
  session.url = instances[1].url
  expect((await session.answer({ id: id! }, accept({ name: 'Ann' }), { state })).status).toBe(400)
  for (const instance of instances) instance.close()
})

test('a call that is older than maxCallSeconds is not revived, however fresh its last question is', async () => {
  let now = Date.now()
  const options = { clock: () => now, ttlSeconds: 60, maxCallSeconds: 100 }
  const first = await startHere(options)
  const session = await begin(first.url)
  const call = await session.call('update_work_item', item)
  const asked = await call.next()
  now += 55_000
  await session.answer({ id: asked.id! }, accept({ resolution: 'Duplicate' }), { state: asked.state })
  const second = await call.next()
  first.close()
  const other = await startHere(options)
  now += 50_000
  session.url = other.url
  const resumed = await session.listen(call.lastEventId)
  await session.answer({ id: second.id! }, accept({ duplicateOfId: 4301 }), { state: second.state })
  expect(await resumed.rest()).toMatchObject([{ error: { code: -32602 } }])
  other.close()
})

test('an instance that is being stopped and knows no other leaves its calls to whoever gets their answers', async () => {
  const [stopping, other] = await Promise.all([startHere(), startHere()])
  const session = await begin(stopping.url)
  const busy = await session.open('tools/call', { name: 'hold', _meta: { progressToken: 1 } })
  await busy.next() // so that it takes a while to stop
  const call = await session.call('greet')
  const question = await call.next()
  const stopped = stopping.server.drain({ deadlineMs: 20_000 })
  await expect(call.rest()).resolves.toEqual([]) // the stream ends without a word
  session.url = other.url
  const resumed = await session.listen(call.lastEventId)
  const { status } = await session.answer(question, accept({ name: 'Ann' }), { state: question.state })
  expect(status).toBe(202)
  expect(await resumed.rest()).toMatchObject([text('Hello Ann')])
  await session.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } })
  await stopped
  other.close()
})

function flipped(token: string): string {
  const middle = Math.floor(token.length / 2)
  return `${token.slice(0, middle)}${token[middle] === 'A' ? 'B' : 'A'}${token.slice(middle + 1)}`
}
