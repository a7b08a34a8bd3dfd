import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ProtocolError } from './errors.ts'
import { idOf, readMessage } from './jsonRpc.ts'

const request = { jsonrpc: '2.0', id: 1, method: 'tools/list' }

describe('readMessage', () => {
  test.each([
    ['a request', request, 'request'],
    ['a request with a string id', { ...request, id: 'x' }, 'request'],
    ['a notification', { jsonrpc: '2.0', method: 'notifications/initialized' }, 'notification'],
    ['a result', { jsonrpc: '2.0', id: 1, result: {} }, 'response'],
    ['an error', { jsonrpc: '2.0', id: 1, error: { code: -1, message: 'no' } }, 'response'],
  ])('reads %s', (_, value, kind) => {
    expect(readMessage(value).kind).toBe(kind)
  })

  test.each([
    ['a batch', [request], 'batches'],
    ['a number', 3, 'JSON object'],
    ['null', null, 'JSON object'],
    ['another version', { ...request, jsonrpc: '1.0' }, '"jsonrpc"'],
    ['no version', { id: 1, method: 'x' }, '"jsonrpc"'],
    ['a null id', { ...request, id: null }, '"id"'],
    ['a fractional id', { ...request, id: 1.5 }, '"id"'],
    ['an id beyond the safe integers', { ...request, id: 2 ** 60 }, '"id"'],
    ['an object as id', { ...request, id: {} }, '"id"'],
    ['a number as method', { ...request, method: 3 }, '"method"'],
    ['null as method', { ...request, method: null }, '"method"'],
    ['a list as params', { ...request, params: [] }, '"params"'],
    ['null as params', { ...request, params: null }, '"params"'],
    ['neither method nor result', { jsonrpc: '2.0', id: 1 }, '"method"'],
    ['result and error', { jsonrpc: '2.0', id: 1, result: {}, error: { code: 1, message: '' } }, '"method"'],
    ['a text as result', { jsonrpc: '2.0', id: 1, result: 'x' }, '"result"'],
    ['an error without code', { jsonrpc: '2.0', id: 1, error: { message: 'x' } }, '"error"'],
    ['a response without id', { jsonrpc: '2.0', result: {} }, '"id"'],
  ])('refuses %s and names the field', (_, value, field) => {
    expect(() => readMessage(value)).toThrow(ProtocolError)
    expect(() => readMessage(value)).toThrow(field)
  })

  test('whatever JSON comes, it is a message or a ProtocolError', () => {
    const fields = fc.record(
      {
        jsonrpc: fc.constantFrom('2.0', 2),
        id: fc.jsonValue(),
        method: fc.jsonValue(),
        params: fc.jsonValue(),
        result: fc.jsonValue(),
        error: fc.jsonValue(),
      },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(fc.oneof(fc.jsonValue(), fields), (value) => {
        try {
          expect(['request', 'notification', 'response']).toContain(readMessage(value).kind)
        } catch (error) {
          expect(error).toBeInstanceOf(ProtocolError)
        }
      }),
      { numRuns: 2000 },
    )
  })
})

test.each([
  [{ id: 7, jsonrpc: 3 }, 7],
  [{ id: 'seven' }, 'seven'],
  [{ id: null }, undefined],
  [{ id: {} }, undefined],
  [[], undefined],
  ['x', undefined],
])('the id to answer %j with is %j', (value, id) => {
  expect(idOf(value)).toBe(id)
})
