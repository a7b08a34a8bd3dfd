import { describe, expect, test } from 'vitest'
import { assertParamHeaders, findParamHeaders } from './paramHeaders.ts'

const region = { type: 'string', 'x-mcp-header': 'Region' }
const schema = {
  type: 'object',
  properties: {
    region,
    count: { type: 'integer', 'x-mcp-header': 'Count' },
    where: { type: 'object', properties: { dry: { type: 'boolean', 'x-mcp-header': 'Dry-Run' } } },
    'x-mcp-header': { type: 'string' },
  },
}

describe('findParamHeaders', () => {
  test('finds mirrored properties at every level of properties', () => {
    expect(findParamHeaders(schema).map(({ path, name }) => [path.join('.'), name])).toEqual([
      ['region', 'Mcp-Param-Region'],
      ['count', 'Mcp-Param-Count'],
      ['where.dry', 'Mcp-Param-Dry-Run'],
    ])
  })

  test.each([
    ['an empty name', { properties: { a: { type: 'string', 'x-mcp-header': '' } } }],
    ['a name with a space', { properties: { a: { type: 'string', 'x-mcp-header': 'a b' } } }],
    ['a name with a line break', { properties: { a: { type: 'string', 'x-mcp-header': 'a\r\nb' } } }],
    ['a number as name', { properties: { a: { type: 'string', 'x-mcp-header': 3 } } }],
    ['a fractional type', { properties: { a: { type: 'number', 'x-mcp-header': 'A' } } }],
    ['an object', { properties: { a: { type: 'object', 'x-mcp-header': 'A' } } }],
    ['one name twice in another case', { properties: { a: region, b: { ...region, 'x-mcp-header': 'REGION' } } }],
    ['an array item', { properties: { a: { type: 'array', items: region } } }],
    ['a branch of anyOf', { anyOf: [{ properties: { region } }] }],
    ['a definition', { $defs: { r: region } }],
  ])('refuses %s', (_, bad) => {
    expect(() => findParamHeaders({ type: 'object', ...bad })).toThrow(TypeError)
  })
})

describe('assertParamHeaders', () => {
  const mirrored = findParamHeaders(schema)
  const agrees = (args: object, headers: Record<string, string>): boolean => {
    try {
      assertParamHeaders(mirrored, { ...args }, (name) => headers[name])
      return true
    } catch (error) {
      expect(error).toMatchObject({ code: 'HEADER_MISMATCH' })
      return false
    }
  }

  test.each([
    ['nothing sent', {}, {}, true],
    ['a null argument without header', { region: null }, {}, true],
    ['the same text', { region: 'eu' }, { 'mcp-param-region': 'eu' }, true],
    ['the same text, encoded', { region: 'é' }, { 'mcp-param-region': '=?base64?w6k=?=' }, true],
    ['the same number', { count: 42 }, { 'mcp-param-count': '42' }, true],
    ['the same number, spelled otherwise', { count: 42 }, { 'mcp-param-count': '42.0' }, true],
    ['the same truth', { where: { dry: true } }, { 'mcp-param-dry-run': 'true' }, true],
    ['a missing header', { region: 'eu' }, {}, false],
    ['another text', { region: 'eu' }, { 'mcp-param-region': 'us' }, false],
    ['a header for an absent argument', {}, { 'mcp-param-region': 'eu' }, false],
    ['a header for a null argument', { region: null }, { 'mcp-param-region': 'null' }, false],
    ['another number', { count: 42 }, { 'mcp-param-count': '43' }, false],
    ['a number in hexadecimal', { count: 16 }, { 'mcp-param-count': '0x10' }, false],
    ['truth in another case', { where: { dry: true } }, { 'mcp-param-dry-run': 'True' }, false],
    ['an inherited argument', Object.create({ region: 'eu' }), { 'mcp-param-region': 'eu' }, false],
  ])('%s', (_, args, headers, expected) => {
    expect(agrees(args, headers)).toBe(expected)
  })
})
