import { describe, expect, test } from 'vitest'
import { type Loose, settled } from '../../../test/client/fixtures/fakeTransport.ts'
import { accept, call, done, form, inputRequired, layered } from '../../../test/client/fixtures/roundsClient.ts'

describe('a server that does it wrong', () => {
  test.each([
    ['a kind of result that nobody knows', { resultType: 'perhaps' }, 'RESULT_UNKNOWN'],
    ['a kind of result that is no word', { resultType: 7 }, 'RESULT_UNKNOWN'],
    ['neither questions nor a state', { resultType: 'input_required' }, 'INPUT_INVALID'],
    ['a state that is no string', { resultType: 'input_required', requestState: { a: 1 } }, 'INPUT_INVALID'],
    ['a state that is null', { resultType: 'input_required', requestState: null }, 'INPUT_INVALID'],
    ['questions in a list', { resultType: 'input_required', inputRequests: [form()] }, 'INPUT_INVALID'],
    ['a question that is none', { resultType: 'input_required', inputRequests: { a: 'x' } }, 'INPUT_INVALID'],
    ['an unknown question', { resultType: 'input_required', inputRequests: { a: { method: 'x' } } }, 'INPUT_INVALID'],
    [
      'a form without a message',
      { resultType: 'input_required', inputRequests: { a: { method: 'elicitation/create' } } },
      'INPUT_INVALID',
    ],
    [
      'a question that was not declared, next to one that was',
      { resultType: 'input_required', inputRequests: { a: form(), r: { method: 'roots/list' } } },
      'INPUT_UNDECLARED',
    ],
  ])('%s', async (_, result, code) => {
    const asked: unknown[] = []
    const { wire, above } = layered({ form: (question) => (asked.push(question), accept()) })
    await above.send(call(1))
    wire.say({ id: 1, result })
    await settled()
    expect(above.heard).toMatchObject([{ id: 1, error: { code: -32603, data: { code } } }])
    expect(asked).toEqual([])
    expect(wire.sent).toHaveLength(1)
  })

  test.each([
    [
      'a state that is too large',
      { requestState: 'é'.repeat(600) },
      /state of 1200 bytes, and "maxStateBytes" is 1000/,
    ],
    [
      'too many questions',
      { inputRequests: Object.fromEntries(Object.entries(Array(101).fill(form()))) },
      /101 answers/,
    ],
  ])('%s', async (_, asks, sentence) => {
    const asked: unknown[] = []
    const { wire, above } = layered({ form: (each) => (asked.push(each), accept()) }, { maxStateBytes: 1_000 })
    await above.send(call(1))
    wire.say(inputRequired(1, asks))
    await settled()
    const message = expect.stringMatching(sentence)
    expect(above.heard).toMatchObject([{ id: 1, error: { message, data: { code: 'INPUT_TOO_LARGE' } } }])
    expect(JSON.stringify(above.heard)).not.toContain('é')
    expect(asked).toEqual([])
    expect(wire.sent).toHaveLength(1)
  })

  test('a state of more than 4 MB, where nothing else is said', async () => {
    const { wire, above } = layered()
    await above.send(call(1))
    wire.say(inputRequired(1, { requestState: 'x'.repeat(4 * 1024 * 1024 + 1) }))
    await settled()
    expect(above.heard).toMatchObject([{ id: 1, error: { data: { code: 'INPUT_TOO_LARGE' } } }])
  })

  test('a state as large as may be is sent back', async () => {
    const { wire, above, last } = layered({}, { maxStateBytes: 1_000 })
    await above.send(call(1))
    wire.say(inputRequired(1, { requestState: 'é'.repeat(500) }))
    await settled()
    expect(last().params).toMatchObject({ requestState: 'é'.repeat(500) })
  })

  test('a leg that is answered twice, or under another spelling of its id, settles its own call once', async () => {
    const { wire, above, last } = layered()
    await above.send(call(1))
    wire.say(inputRequired('1', { inputRequests: { q: form() } }))
    wire.say(done(1, 'again'))
    wire.say(done('1', 'and again'))
    await settled()
    const leg = last().id
    wire.say(done(leg))
    wire.say(done(leg, 'too late'))
    expect(above.heard).toEqual([{ jsonrpc: '2.0', ...done(1) }])
  })

  test('keys that mean something to JavaScript are keys like others', async () => {
    const { wire, above, last } = layered()
    await above.send(call(1))
    const result = `{"resultType":"input_required","inputRequests":{"__proto__":${JSON.stringify(form())},"toString":${JSON.stringify(form())}}}`
    wire.say({ id: 1, result: JSON.parse(result) })
    await settled()
    expect(Object.keys(last().params?.['inputResponses'])).toEqual(['__proto__', 'toString'])
    expect(({} as Loose).action).toBeUndefined()
  })
})
