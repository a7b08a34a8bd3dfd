/** A server asks only within a request of its client (SEP-2260). */
import { afterAll, beforeAll, expect } from 'vitest'
import { proves } from '../proves.ts'
import { type Instance, startHere } from './fixtures/instances.ts'
import type { MessageStream } from './fixtures/messageStream.ts'
import { RawSession } from './fixtures/rawSession.ts'

const asking = { elicitation: {}, sampling: {}, roots: {} }
const text = (value: string) => ({ result: { content: [{ type: 'text', text: value }] } })
const named = (name: string) => ({ action: 'accept', content: { name } })

let instance: Instance
let session: RawSession
let listening: MessageStream

beforeAll(async () => {
  instance = await startHere()
  session = await RawSession.begin(instance.url, { capabilities: asking })
  listening = await session.listen()
})
afterAll(async () => {
  await session.end()
  instance.close()
})

proves('RA-1 RA-3 RA-8 RA-9', 'each question comes on the stream of the request it belongs to', async () => {
  const calls = await Promise.all([session.call('greet'), session.call('sum_up'), session.call('greet')])
  const questions = await Promise.all(calls.map((call) => call.next()))
  expect(questions.map(({ method }) => method)).toEqual([
    'elicitation/create',
    'sampling/createMessage',
    'elicitation/create',
  ])
  await session.answer(questions[2]!, named('Cem'))
  expect(await calls[2].next()).toMatchObject(text('Hello Cem'))
  await session.answer(questions[0]!, named('Ann'))
  expect(await calls[0].next()).toMatchObject(text('Hello Ann'))
  await session.answer(questions[1]!, { role: 'assistant', model: 'm', content: { type: 'text', text: 'short' } })
  expect(await calls[1].next()).toMatchObject({ result: { content: [{ text: expect.stringContaining('short') }] } })
})

proves('RA-4 RA-5 RA-6 RA-10 RA-11', 'a GET stream hears of changes and never of a question', async () => {
  const calls = await Promise.all(['greet', 'sum_up', 'folders'].map((name) => session.call(name)))
  await Promise.all(calls.map((call) => call.next()))
  instance.server.changed('tools')
  expect(await listening.next()).toEqual({ jsonrpc: '2.0', method: 'notifications/tools/list_changed', params: {} })
  for (const call of calls) call.close()
})

proves('RA-2 RA-7', 'a server has nothing that could ask, sample, list roots or ping on its own', () => {
  const offered = [instance.server, Object.getPrototypeOf(instance.server) as object].flatMap(
    Object.getOwnPropertyNames,
  )
  expect(offered).toContain('tool')
  expect(offered.filter((name) => /ask|elicit|sampl|roots|ping|request|push|send/i.test(name))).toEqual([])
})

proves('RA-14', 'no flag allows standalone requests, on either side', async () => {
  const capabilities = { ...asking, standalone: {}, elicitation: { standalone: {} } }
  const flagged = await RawSession.begin(instance.url, { capabilities })
  expect(JSON.stringify(flagged.initialized)).not.toMatch(/standalone/i)
  const kept = await flagged.call('keep')
  await flagged.answer(await kept.next(), named('Ann'))
  await kept.next()
  const late = await flagged.request('tools/call', { name: 'ask_late' })
  expect(late).toMatchObject(text(Array(5).fill('SCOPE_CLOSED').join(' ')))
  await flagged.end()
})

proves('RA-2 RA-12', 'a question that its handler did not wait for is taken back with the response', async () => {
  const call = await session.call('ask_and_leave')
  const question = await call.next()
  expect(await call.rest()).toMatchObject([
    { method: 'notifications/cancelled', params: { requestId: question.id } },
    { result: { isError: true, content: [{ text: expect.stringContaining('did not wait for the question "name"') }] } },
  ])
  await session.answer(question, { action: 'accept', content: {} })
  instance.server.changed('prompts')
  expect(await listening.next()).toMatchObject({ method: 'notifications/prompts/list_changed' })
})
