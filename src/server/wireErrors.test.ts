import { describe, expect, test } from 'vitest'
import { Declined, JournalError, newJournal } from '../journal/index.ts'
import { CODES, ProtocolError, RemoteError, TaskFailed } from '../protocol/index.ts'
import { StateError } from '../state/internal.ts'
import type { Call } from './call.ts'
import { AuthError, LimitError, ServerError } from './errors.ts'
import { isExpected, isUnanswered, toWireError } from './wireErrors.ts'

const remote = (code: number) => new RemoteError(code, 'far away')

describe('on the wire', () => {
  test.each<[string, unknown, number, number]>([
    ['an unknown method', new ProtocolError('METHOD_UNKNOWN', 'x'), CODES.METHOD_NOT_FOUND, 404],
    ['bad parameters', new ProtocolError('PARAMS_INVALID', 'x'), CODES.INVALID_PARAMS, 200],
    ['a bad envelope', new ProtocolError('ENVELOPE_INVALID', 'x'), CODES.INVALID_PARAMS, 400],
    ['an unknown method elsewhere', remote(CODES.METHOD_NOT_FOUND), CODES.METHOD_NOT_FOUND, 404],
    ['bad parameters elsewhere', remote(CODES.INVALID_PARAMS), CODES.INVALID_PARAMS, 200],
    ['an error elsewhere with a number of its own', remote(-1), -1, 200],
    [
      'a task that failed with a number that has a status',
      new TaskFailed({ code: CODES.METHOD_NOT_FOUND, message: 'x' }),
      CODES.METHOD_NOT_FOUND,
      200,
    ],
    ['a bad state', new StateError('STATE_EXPIRED', 'x'), CODES.INVALID_PARAMS, 200],
    ['no access', new AuthError('AUTH_MISSING', 'x'), CODES.INVALID_REQUEST, 401],
    ['access that cannot be checked', new AuthError('AUTH_UNAVAILABLE', 'x'), CODES.INTERNAL_ERROR, 503],
    ['a limit', new LimitError('LIMIT_CALLS', 'x', 7), CODES.INVALID_REQUEST, 429],
    ['an error of the server', new ServerError('RESULT_TOO_LARGE', 'x'), CODES.INTERNAL_ERROR, 200],
    ['anything else', new Error('secret'), CODES.INTERNAL_ERROR, 200],
  ])('%s has its number and status', (_, error, code, status) => {
    expect(toWireError(error)).toMatchObject({ code, status })
  })

  test('data goes along where there is any, and an error that is not ours tells nothing', () => {
    expect(toWireError(new RemoteError(-1, 'x', 7))).toHaveProperty('data', 7)
    expect(toWireError(remote(-1))).not.toHaveProperty('data')
    expect(toWireError(new LimitError('LIMIT_CALLS', 'x', 7)).data).toEqual({ retryAfterSeconds: 7 })
    expect(toWireError(new Error('secret')).message).toBe('Internal error.')
  })
})

test.each<[string, Partial<Call> | undefined, string]>([
  ['of nothing', undefined, 'Send the request again in a moment.'],
  ['of a task', { method: 'tasks/get', params: {} }, 'Send the request again in a moment.'],
  ['of a first round', { method: 'tools/call', params: {} }, 'The call has begun and may have had effects'],
  ['of a prompt', { method: 'prompts/get', params: {} }, 'The call has begun and may have had effects'],
  [
    'of a later round',
    { method: 'tools/call', params: { requestState: 's' } },
    'Earlier rounds or attempts of this call have run',
  ],
  ['of a round with answers', { method: 'tools/call', params: { inputResponses: {} } }, 'Earlier rounds or attempts'],
  [
    'of a resumed call',
    { method: 'resources/read', params: {}, resumed: newJournal(() => 'id') },
    'Earlier rounds or attempts of this call have run',
  ],
])('a store that is away says nothing of itself, and what to do about the request %s', (_, request, sentence) => {
  const { code, message, data } = toWireError(new StateError('STORE_UNAVAILABLE', 'secret'), request as Call)
  expect({ code, data }).toEqual({ code: CODES.INTERNAL_ERROR, data: { code: 'STORE_UNAVAILABLE' } })
  expect(message).toContain(sentence)
  expect(message).not.toContain('secret')
})

test.each<[string, boolean, unknown]>([
  ['no access', true, new AuthError('AUTH_MISSING', 'x')],
  ['access that cannot be checked', false, new AuthError('AUTH_UNAVAILABLE', 'x')],
  ['a limit', true, new LimitError('LIMIT_CALLS', 'x', 7)],
  ['a question without an answer', true, new ServerError('PUSH_UNANSWERED', 'x')],
  ['a result that is too large', false, new ServerError('RESULT_TOO_LARGE', 'x')],
  ['a failed task', true, new TaskFailed({ code: -1, message: 'x' })],
  ['an error elsewhere', true, remote(-1)],
  ['a bad request', true, new ProtocolError('PARAMS_INVALID', 'x')],
  ['a bad state', true, new StateError('STATE_EXPIRED', 'x')],
  ['a store that is away', false, new StateError('STORE_UNAVAILABLE', 'x')],
  ['a ledger that is full', false, new StateError('LEDGER_FULL', 'x')],
  ['an answer that is declined', true, new Declined('sure', 'decline')],
  ['a mistake of the handler', false, new JournalError('KEY_INVALID', 'x')],
  ['a bug', false, new TypeError('x')],
])('%s is expected: %s', (_, expected, error) => {
  expect(isExpected(error)).toBe(expected)
})

test('only a pushed question can be without an answer', () => {
  expect(isUnanswered(new ServerError('PUSH_UNANSWERED', 'x'))).toBe(true)
  expect(isUnanswered(new ServerError('RESULT_TOO_LARGE', 'x'))).toBe(false)
  expect(isUnanswered(new Error('PUSH_UNANSWERED'))).toBe(false)
})
