import { beforeAll, expect, test } from 'vitest'
import { headersOf, post, type RequestMessage, servedBy, withEnvelope } from '../../examples/work-items/wire.ts'
import { proves } from '../proves.ts'
import { type Instance, useInstances } from './fixtures/instances.ts'
import { carrying, comparable, sep } from './fixtures/sep2322.ts'

const { startAll } = useInstances()

let a: Instance
let b: Instance

beforeAll(async () => {
  ;[a, b] = await startAll(['A', 'B'], 'examples/demos/weather/server.ts')
})

const [first, second] = sep.weather as [(typeof sep.weather)[0], (typeof sep.weather)[0]]
const wrongKey = sep.weatherWrongKey[0]!

function named(name: string, { params, ...message }: RequestMessage): RequestMessage {
  return { ...message, params: { ...params, name } }
}

function answering(inputResponses: unknown, requestState?: string): RequestMessage {
  const { params, ...message } = first.request
  return { ...message, params: { ...params, inputResponses, ...(requestState && { requestState }) } }
}

const octocat = { action: 'accept', content: { name: 'octocat' } }

proves(
  'MRTR-1 MRTR-2 MRTR-3 MRTR-4 MRTR-5',
  'the weather flow is message by message what SEP-2322 prints, its two rounds on two processes',
  async () => {
    const asked = await post(a.url, first.request)
    const told = await post(b.url, carrying(second.request, asked))
    expect(comparable(asked)).toEqual(comparable(first.answer))
    expect(comparable(told)).toEqual(comparable(second.answer))
    expect([servedBy(asked), servedBy(told)]).toEqual(['A', 'B'])
  },
)

proves('MRTR-43', 'answers under a key that was not asked are answered by the question that was', async () => {
  const again = await post(b.url, named('get_weather_without_state', wrongKey.request))
  // The SEP prints id 2 in answer to id 3; an answer has the id of its request.
  expect(comparable(again)).toEqual(comparable({ ...wrongKey.answer, id: 3 }))
})

proves('MRTR-43', 'an answer that is missing beside a state is asked for again, with a state', async () => {
  const asked = await post(a.url, first.request)
  const again = await post(b.url, carrying(wrongKey.request, asked))
  expect(comparable(again)).toEqual(comparable({ ...first.answer, id: 3 }))
  const told = await post(a.url, carrying(second.request, again))
  expect(comparable(told)).toEqual(comparable(second.answer))
})

proves('MRTR-42', 'what was not asked for is ignored beside what was', async () => {
  const asked = await post(a.url, first.request)
  const unasked = { ...(wrongKey.request.params['inputResponses'] as object), other: 'no object' }
  const odd = Object.fromEntries([['__proto__', octocat]])
  const login = { action: 'accept', content: { name: 'octocat', shoeSize: 46 }, extra: true }
  const told = await post(b.url, answering({ ...unasked, ...odd, github_login: login }, asked.result!.requestState))
  expect(told.result).toMatchObject({ resultType: 'complete', content: second.answer.result!.content })
})

test.each([
  ['has no action', { content: { name: 'octocat' } }],
  ['has an action nobody knows', { action: 'agree', content: { name: 'octocat' } }],
  ['has no content', { action: 'accept' }],
  ['has content that fails the form', { action: 'accept', content: { name: 7 } }],
  ['is no object', 'octocat'],
  ['is null', null],
])('an answer that %s is asked for again', async (_, bad) => {
  const asked = await post(a.url, first.request)
  const again = await post(b.url, answering({ github_login: bad }, asked.result!.requestState))
  expect(Object.keys(again.result!.inputRequests!)).toEqual(['github_login'])
})

test('a question is asked five times at most, whichever instance asks', async () => {
  let answer = await post(a.url, first.request)
  for (const instance of [b, a, b, a]) {
    answer = await post(instance.url, answering({}, answer.result!.requestState))
    expect(answer.result!.resultType).toBe('input_required')
  }
  const given = await post(b.url, answering({}, answer.result!.requestState))
  expect(given.result).toMatchObject({ resultType: 'complete', isError: true })
  expect(given.result!.content![0]!.text).toContain('asked 5 times')
})

for (const [what, bad] of [
  ['a string', 'octocat'],
  ['a number', 1],
  ['an array', [octocat]],
  ['null', null],
  ['a boolean', true],
] as const) {
  proves(
    'MRTR-40 MRTR-41',
    `inputResponses that are ${what} get a JSON-RPC error with the id of the request`,
    async () => {
      const { id, result, error } = await post(a.url, answering(bad))
      expect({ id, result, code: error?.code }).toEqual({ id: 2, result: undefined, code: -32602 })
      expect(error?.message).toContain('inputResponses')
    },
  )
}

proves('MRTR-41', 'a requestState that is no string gets a JSON-RPC error', async () => {
  const { params, ...message } = first.request
  const { error } = await post(a.url, { ...message, params: { ...params, requestState: { plain: true } } })
  expect(error?.code).toBe(-32602)
})

proves('MRTR-41', 'a body that is no JSON gets a JSON-RPC error', async () => {
  const body = JSON.stringify(withEnvelope(second.request)).slice(0, -2)
  const response = await fetch(a.url, { method: 'POST', headers: headersOf(second.request), body })
  expect(await response.json()).toMatchObject({ jsonrpc: '2.0', error: { code: -32700 } })
})
