/** An instance that is stopped before it has met another keeps its calls until one comes, or until their answers do. */
import { afterEach, expect, test } from 'vitest'
import { type Instance, startHere } from './fixtures/instances.ts'
import type { Incoming, MessageStream } from './fixtures/messageStream.ts'
import { RawSession } from './fixtures/rawSession.ts'

const ann = { action: 'accept', content: { name: 'Ann' } }
const greeting = { result: { content: [{ text: 'Hello Ann' }] } }
const closers: (() => unknown)[] = []

afterEach(async () => {
  for (const close of closers.splice(0)) await close()
})

async function start(): Promise<Instance> {
  const instance = await startHere()
  closers.push(() => instance.server.drain({ deadlineMs: 0 }))
  return instance
}

interface Asked {
  readonly alone: Instance
  readonly session: RawSession
  readonly call: MessageStream
  readonly question: Incoming
}

async function asked(tool: string, args: object = {}): Promise<Asked> {
  const alone = await start()
  const session = await RawSession.begin(alone.url, { capabilities: { elicitation: {} } })
  const call = await session.call(tool, args)
  return { alone, session, call, question: await call.next() }
}

test('its calls go on with the answers that come, also to questions that they ask from then on', async () => {
  const { alone, session, call, question } = await asked('update_work_item', { workItemId: 1, fields: {} })
  const stopped = alone.server.drain({ idleMs: 50 })
  await session.answer(question, { action: 'accept', content: { resolution: 'Duplicate' } })
  await session.answer(await call.next(), { action: 'accept', content: { duplicateOfId: 2 } })
  expect(await call.rest()).toMatchObject([{ result: { content: [{ text: expect.stringContaining('Bug #2') }] } }])
  await stopped
})

test('its calls go to the first instance that a client brings something of its own', async () => {
  const { alone, session, call, question } = await asked('greet')
  const stopped = alone.server.drain({ idleMs: 50 })
  session.url = (await start()).url
  await session.request('ping')
  expect(await call.rest()).toEqual([]) // it goes on elsewhere
  await stopped
  const resumed = await session.listen(call.lastEventId)
  expect((await session.answer(question, ann)).status).toBe(202)
  expect(await resumed.rest()).toMatchObject([greeting])
})

test('an answer that comes to another instance is taken, although the two have never met', async () => {
  const { alone, session, call, question } = await asked('greet')
  const stopped = alone.server.drain({ idleMs: 50 })
  session.url = (await start()).url
  expect((await session.answer(question, ann)).status).toBe(202)
  const messages = await call.rest()
  const seen = messages.length > 0 ? messages : await (await session.listen(call.lastEventId)).rest()
  expect(seen).toMatchObject([greeting])
  await stopped
})

test('a call for which neither comes ends with a sentence before the instance does', async () => {
  const { alone, call } = await asked('greet')
  await alone.server.drain({ deadlineMs: 50 })
  expect(await call.rest()).toMatchObject([
    { result: { isError: true, content: [{ text: expect.stringContaining('knows no other') }] } },
  ])
})
