import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { replyIn, serverRequestIn, replyText } from './reply.ts'

describe('an answer', () => {
  test.each([
    ['a result', { jsonrpc: '2.0', id: 2, result: { a: 1 } }, { kind: 'result', result: { a: 1 } }],
    ['with its id as a text', { id: '2', result: {} }, { kind: 'result', result: {} }],
    [
      'in a batch',
      [
        { id: 9, result: {} },
        { id: 2, result: {} },
      ],
      { kind: 'result', result: {} },
    ],
    ['an error', { id: 2, error: { code: 1, message: 'm' } }, { kind: 'error', code: 1, message: 'm' }],
    ['an error without an id', { id: null, error: { code: 1, message: 'm' } }, { kind: 'error', code: 1 }],
    ['an error without a code', { error: { message: 'm' } }, { kind: 'error', code: undefined, message: 'm' }],
    ['an error that is a text', { error: 'no session' }, { kind: 'error', code: undefined, message: 'no session' }],
  ])('%s', (_, value, expected) => {
    expect(replyIn(value, 2)).toMatchObject(expected)
  })

  test.each([
    ['a result for another', { id: 3, result: {} }],
    ['an error for another', { id: 3, error: { code: 1, message: 'm' } }],
    ['a request', { id: 2, method: 'ping' }],
    ['a result that is no object', { id: 2, result: [] }],
    ['a page', 'x'],
    ['nothing', null],
    ['lists in lists', [[[{ id: 2, result: {} }]]]],
  ])('%s is none', (_, value) => {
    expect(replyIn(value, 2)).toBeUndefined()
  })

  test('is read from any JSON without a throw', () => {
    fc.assert(fc.property(fc.jsonValue(), (value) => [replyIn(value, 1), serverRequestIn(value)].length === 2))
  })

  test('is looked for in lists that nest as deep as an answer is long', () => {
    const deep = JSON.parse(`${'['.repeat(100_000)}${']'.repeat(100_000)}`) as unknown
    expect(replyIn(deep, 1)).toBeUndefined()
  })
})

test('a reply is told in a few words', () => {
  const http = { status: 400, session: undefined, challenge: false }
  expect(replyText({ kind: 'error', code: -32000, message: 'm', data: 1, http })).toBe(
    'answers with error -32000 (HTTP 400): "m"',
  )
  expect(replyText({ kind: 'refused', status: 502, text: '', http })).toBe('answers HTTP 502')
  expect(replyText({ kind: 'timed-out', waitedMs: 1500 })).toBe('says nothing for 1.5 s')
})
