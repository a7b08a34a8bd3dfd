import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { ProtocolError } from './errors.ts'
import { assertHeadersAgree, decodeHeader } from './headers.ts'
import type { RequestMessage } from './jsonRpc.ts'

const base64 = (text: string): string => `=?base64?${Buffer.from(text).toString('base64')}?=`

describe('decodeHeader', () => {
  test.each([
    ['plain', 'us-west1', 'us-west1'],
    ['white space around it', ' us-west1\t', 'us-west1'],
    ['encoded', '=?base64?SGVsbG8sIOS4lueVjA==?=', 'Hello, 世界'],
    ['encoded white space', '=?base64?IHBhZGRlZCA=?=', ' padded '],
    ['encoded look-alike', '=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?=', '=?base64?literal?='],
    ['encoded emptiness', '=?base64??=', ''],
    ['a start without an end', '=?base64?SGVsbG8=', '=?base64?SGVsbG8='],
    ['an end without a start', 'SGVsbG8=?=', 'SGVsbG8=?='],
    ['upper-case marker', '=?BASE64?SGVsbG8=?=', '=?BASE64?SGVsbG8=?='],
  ])('reads %s', (_, header, value) => {
    expect(decodeHeader('Mcp-Name', header)).toBe(value)
  })

  test.each([
    ['missing padding', '=?base64?SGVsbG8?='],
    ['too much padding', '=?base64?SGVsbG8==?='],
    ['letters of another alphabet', '=?base64?SGVs_G8=?='],
    ['white space within', '=?base64?SGVs bG8=?='],
    ['broken UTF-8', `=?base64?${Buffer.from([0xff, 0xfe]).toString('base64')}?=`],
    ['a character above ASCII', 'caf\u00e9'],
    ['a control character', 'a\u0001b'],
  ])('refuses %s', (_, header) => {
    expect(() => decodeHeader('Mcp-Name', header)).toThrow(ProtocolError)
  })

  test('every text comes back from its encoded form', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'grapheme' }), (text) => {
        fc.pre(text.isWellFormed())
        expect(decodeHeader('X', base64(text))).toBe(text)
      }),
    )
  })

  test('whatever a header holds, it is a text or a ProtocolError', () => {
    fc.assert(
      fc.property(
        fc.oneof(
          fc.string({ unit: 'binary' }),
          fc.base64String().map((body) => `=?base64?${body}?=`),
        ),
        (header) => {
          try {
            expect(typeof decodeHeader('X', header)).toBe('string')
          } catch (error) {
            expect(error).toMatchObject({ code: 'HEADER_MISMATCH' })
          }
        },
      ),
      { numRuns: 2000 },
    )
  })
})

describe('assertHeadersAgree', () => {
  const message = (method: string, params: object): RequestMessage => ({
    kind: 'request',
    id: 1,
    method,
    params: { ...params },
  })
  const agrees = (request: RequestMessage, headers: Record<string, string>): boolean => {
    try {
      assertHeadersAgree(request, '2026-07-28', (name) => headers[name])
      return true
    } catch (error) {
      expect(error).toMatchObject({ code: 'HEADER_MISMATCH' })
      return false
    }
  }
  const version = { 'mcp-protocol-version': '2026-07-28' }
  const call = message('tools/call', { name: 'echo' })

  test.each([
    ['all three agree', call, { ...version, 'mcp-method': 'tools/call', 'mcp-name': 'echo' }, true],
    ['white space around values', call, { ...version, 'mcp-method': ' tools/call ', 'mcp-name': ' echo ' }, true],
    [
      'an encoded name',
      message('tools/call', { name: 'é' }),
      { ...version, 'mcp-method': 'tools/call', 'mcp-name': base64('é') },
      true,
    ],
    ['no name where none is needed', message('tools/list', {}), { ...version, 'mcp-method': 'tools/list' }, true],
    [
      'an address as name',
      message('resources/read', { uri: 'a://b' }),
      { ...version, 'mcp-method': 'resources/read', 'mcp-name': 'a://b' },
      true,
    ],
    ['no version', call, { 'mcp-method': 'tools/call', 'mcp-name': 'echo' }, false],
    [
      'another version',
      call,
      { 'mcp-protocol-version': '2025-11-25', 'mcp-method': 'tools/call', 'mcp-name': 'echo' },
      false,
    ],
    ['no method', call, { ...version, 'mcp-name': 'echo' }, false],
    ['another method', call, { ...version, 'mcp-method': 'tools/list', 'mcp-name': 'echo' }, false],
    ['a method in another case', call, { ...version, 'mcp-method': 'TOOLS/CALL', 'mcp-name': 'echo' }, false],
    ['no name', call, { ...version, 'mcp-method': 'tools/call' }, false],
    ['another name', call, { ...version, 'mcp-method': 'tools/call', 'mcp-name': 'other' }, false],
    ['two names', call, { ...version, 'mcp-method': 'tools/call', 'mcp-name': 'echo, echo' }, false],
    [
      'a name that reads otherwise when decoded',
      message('tools/call', { name: base64('echo') }),
      { ...version, 'mcp-method': 'tools/call', 'mcp-name': base64('echo') },
      false,
    ],
  ])('%s', (_, request, headers, expected) => {
    expect(agrees(request, headers)).toBe(expected)
  })
})
