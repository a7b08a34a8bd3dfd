/** Multi round-trip requests inside a session, for clients that declared that they understand them. */
import { afterAll, beforeAll, expect } from 'vitest'
import { proves } from '../proves.ts'
import { type Instance, startHere } from './fixtures/instances.ts'
import { README } from './fixtures/tools.ts'
import { RawSession } from './fixtures/rawSession.ts'

const asking = { elicitation: {}, sampling: {}, roots: {} }
const capabilities = { ...asking, experimental: { 'dev.pannier/rounds': {} } }
const named = (name: string) => ({ name: { action: 'accept', content: { name } } })

let one: Instance
let two: Instance

beforeAll(async () => {
  ;[one, two] = await Promise.all([startHere(), startHere()])
})
afterAll(() => {
  one.close()
  two.close()
})

proves('MRTR-6 MRTR-8', 'a session that declared rounds gets input_required instead of a pushed question', async () => {
  const session = await RawSession.begin(one.url, { capabilities })
  for (const [method, params, done] of [
    ['tools/call', { name: 'greet' }, { content: [{ text: 'Hello Ann' }] }],
    ['prompts/get', { name: 'letter' }, { messages: [{ content: { text: 'Write to Ann.' } }] }],
    ['resources/read', { uri: 'docs://diary' }, { contents: [{ text: 'The diary of Ann.' }] }],
  ] as const) {
    const messages = await (await session.open(method, params)).rest()
    expect(messages).toMatchObject([
      { result: { resultType: 'input_required', inputRequests: { name: { method: 'elicitation/create' } } } },
    ])
    const retry = { ...params, inputResponses: named('Ann'), requestState: messages[0]?.result?.['requestState'] }
    session.url = session.url === one.url ? two.url : one.url
    expect(await session.request(method, retry)).toMatchObject({ result: { resultType: 'complete', ...done } })
  }
})

proves(
  'MRTR-9 MRTR-21',
  'the rounds of a session go to any instance, and its state is of no use to another session',
  async () => {
    const session = await RawSession.begin(one.url, { capabilities })
    const params = { name: 'update_work_item', arguments: { workItemId: 4522, fields: {} } }
    const first = await session.request('tools/call', params)
    session.url = two.url
    const second = await session.request('tools/call', {
      ...params,
      inputResponses: { resolution: { action: 'accept', content: { resolution: 'Duplicate' } } },
      requestState: first.result?.['requestState'],
    })
    const retry = {
      ...params,
      inputResponses: { duplicate_of: { action: 'accept', content: { duplicateOfId: 4301 } } },
      requestState: second.result?.['requestState'],
    }
    const thief = await RawSession.begin(one.url, { capabilities })
    expect(await thief.request('tools/call', retry)).toMatchObject({ error: { code: -32602 } })
    session.url = one.url
    const done = await session.request('tools/call', retry)
    expect(done).toMatchObject({ result: { content: [{ text: expect.stringContaining('Duplicate of Bug #4301') }] } })
  },
)

proves('MRTR-7', 'no other method answers with input_required, whatever the client sends along', async () => {
  const session = await RawSession.begin(one.url, { capabilities })
  const extras = { inputResponses: named('Ann'), requestState: 'x' }
  const ref = { type: 'ref/prompt', name: 'review' }
  for (const [method, params] of [
    ['ping', {}],
    ['initialize', { protocolVersion: '2025-11-25', capabilities }],
    ['completion/complete', { ref, argument: { name: 'topic', value: 'c' } }],
    ['logging/setLevel', { level: 'info' }],
    ['tools/list', {}],
    ['prompts/list', {}],
    ['resources/list', {}],
    ['resources/templates/list', {}],
    ['resources/subscribe', { uri: README }],
    ['resources/unsubscribe', { uri: README }],
  ] as const) {
    const { result } = await session.request(method, { ...params, ...extras })
    expect(result, method).toBeDefined()
    expect(result?.['resultType'] ?? 'complete', method).toBe('complete')
    expect(result, method).not.toHaveProperty('inputRequests')
  }
})

proves('MRTR-6', 'a session that did not declare rounds never sees input_required', async () => {
  const session = await RawSession.begin(one.url, { capabilities: asking })
  const call = await session.call('greet')
  const question = await call.next()
  expect(question).toMatchObject({ method: 'elicitation/create', params: { message: 'Who is there?' } })
  await session.answer(question, named('Ann').name)
  expect(await call.rest()).toMatchObject([{ result: { content: [{ text: 'Hello Ann' }] } }])
})
