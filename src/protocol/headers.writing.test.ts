import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { assertHeadersAgree, decodeHeader, encodeHeader, requestHeaders } from './headers.ts'
import { assertParamHeaders, findParamHeaders, paramHeaderValues } from './paramHeaders.ts'

// The table of the specification, "Value Encoding".
test.each([
  ['us-west1', 'us-west1'],
  ['Hello, 世界', '=?base64?SGVsbG8sIOS4lueVjA==?='],
  [' padded ', '=?base64?IHBhZGRlZCA=?='],
  ['line1\nline2', '=?base64?bGluZTEKbGluZTI=?='],
  ['=?base64?literal?=', '=?base64?PT9iYXNlNjQ/bGl0ZXJhbD89?='],
  ['', ''],
])('%j', (value, encoded) => expect(encodeHeader(value)).toBe(encoded))

describe('for any value', () => {
  const anyText = fc.string({ unit: 'grapheme' })

  test('a header can hold it, and the reading side gets it back', () => {
    fc.assert(
      fc.property(anyText, (value) => {
        const held = new Headers({ 'mcp-name': encodeHeader(value) }).get('mcp-name') ?? undefined
        expect(decodeHeader('Mcp-Name', held)).toBe(value)
      }),
    )
  })

  test('the headers of a request agree with it', () => {
    fc.assert(
      fc.property(anyText, fc.constantFrom('tools/call', 'resources/read', 'tools/list'), (value, method) => {
        const params = { name: value, uri: value }
        const headers = new Headers(requestHeaders(method, params, '2026-07-28'))
        const reader = (name: string) => headers.get(name) ?? undefined
        expect(() => assertHeadersAgree({ kind: 'request', id: 1, method, params }, '2026-07-28', reader)).not.toThrow()
      }),
    )
  })

  test('the headers of mirrored arguments agree with them', () => {
    const schema = {
      type: 'object',
      properties: {
        a: { type: 'string', 'x-mcp-header': 'A' },
        b: { type: 'object', properties: { c: { type: 'integer', 'x-mcp-header': 'C' } } },
        d: { type: 'boolean', 'x-mcp-header': 'D' },
      },
    }
    const mirrored = findParamHeaders(schema)
    const args = fc.record(
      { a: fc.option(anyText), b: fc.record({ c: fc.integer() }), d: fc.boolean() },
      { requiredKeys: [] },
    )
    fc.assert(
      fc.property(args, (given) => {
        const headers = new Headers(paramHeaderValues(mirrored, given))
        expect(() => assertParamHeaders(mirrored, given, (name) => headers.get(name) ?? undefined)).not.toThrow()
      }),
    )
    expect(paramHeaderValues(mirrored, undefined)).toEqual({})
  })
})
