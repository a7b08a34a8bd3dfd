import { describe, expect, test } from 'vitest'
import { SchemaWriter, type SchemaUse } from './schemas.ts'

interface Options {
  is30?: boolean
  use?: SchemaUse
  schemas?: object
}

function written(schema: unknown, { is30 = false, use = 'input', schemas = {} }: Options = {}) {
  const writer = new SchemaWriter({ root: { components: { schemas } }, is30 }, use)
  const whole = writer.write(schema)
  return { whole, definitions: writer.definitions(), isCut: writer.isCut }
}

const ref = (name: string) => ({ $ref: `#/components/schemas/${name}` })

describe('of OpenAPI 3.0', () => {
  test.each<[schema: object, expected: object]>([
    [{ type: 'string', nullable: true }, { type: ['string', 'null'] }],
    [{ type: 'string', nullable: false }, { type: 'string' }],
    [
      { type: 'string', nullable: true, enum: ['a'] },
      { type: ['string', 'null'], enum: ['a', null] },
    ],
    [{ nullable: true, allOf: [{ type: 'string' }] }, { anyOf: [{ allOf: [{ type: 'string' }] }, { type: 'null' }] }],
    [{ minimum: 1, exclusiveMinimum: true }, { exclusiveMinimum: 1 }],
    [{ maximum: 1, exclusiveMaximum: false }, { maximum: 1 }],
  ])('%j becomes %j', (schema, expected) => {
    expect(written(schema, { is30: true }).whole).toEqual(expected)
  })
})

test('what JSON Schema does not have is left out', () => {
  const schema = { type: 'string', example: 'a', xml: {}, externalDocs: {}, discriminator: {}, 'x-a': 1, title: 'A' }
  expect(written(schema).whole).toEqual({ type: 'string', description: 'A' })
})

test('an input has no read-only properties, and an output no write-only ones', () => {
  const schema = {
    required: ['id', 'password'],
    properties: { id: { readOnly: true }, password: ref('Secret'), name: {} },
  }
  const schemas = { Secret: { type: 'string', writeOnly: true } }
  expect(written(schema, { schemas }).whole).toEqual({
    required: ['password'],
    properties: { password: { $ref: '#/$defs/Secret' }, name: {} },
  })
  expect(written(schema, { schemas, use: 'output' }).whole).toEqual({
    required: ['id'],
    properties: { id: {}, name: {} },
  })
})

test('an output is not checked for what APIs keep loosely', () => {
  const schema = { type: 'string', format: 'uri', pattern: '^a', oneOf: [{ minLength: 1 }] }
  expect(written(schema, { use: 'output' }).whole).toEqual({ type: 'string', anyOf: [{ minLength: 1 }] })
  expect(written(schema).whole).toEqual(schema)
})

test('schemas that refer to each other in a circle are written once each', () => {
  const schemas = { A: { properties: { b: ref('B') } }, B: { items: ref('A') } }
  expect(written(ref('A'), { schemas })).toMatchObject({
    whole: { $ref: '#/$defs/A' },
    definitions: { A: { properties: { b: { $ref: '#/$defs/B' } } }, B: { items: { $ref: '#/$defs/A' } } },
  })
})

test('names of definitions have no odd characters, and differ', () => {
  const schemas = { 'a b': { type: 'string' }, 'a/b': { type: 'number' }, a_b: { type: 'null' } }
  const { definitions } = written({ anyOf: [ref('a b'), ref('a~1b'), ref('a_b')] }, { schemas })
  expect(definitions).toEqual({ a_b: { type: 'string' }, a_1b: { type: 'number' }, a_b_2: { type: 'null' } })
})

test('names of the prototype are names like others', () => {
  const schemas = JSON.parse('{"__proto__":{"type":"string"},"constructor":{"type":"number"}}')
  const properties = JSON.parse('{"__proto__":{"type":"null"}}')
  const { whole, definitions } = written({ anyOf: [ref('__proto__'), ref('constructor'), { properties }] }, { schemas })
  expect(JSON.stringify(whole)).toContain('{"__proto__":{"type":"null"}}')
  expect(Object.entries(definitions ?? {}).map(([, each]) => each)).toEqual([{ type: 'string' }, { type: 'number' }])
  expect(Object.getPrototypeOf(definitions)).toBe(Object.prototype)
})

test('a schema that is too large is left open where it ends', () => {
  const all = Array.from({ length: 2000 }, (_, at) => [
    `S${at}`,
    { description: 'x'.repeat(400), items: ref(`S${at + 1}`) },
  ])
  const schemas = Object.fromEntries([...all, ['S2000', {}]])
  const { definitions, isCut } = written(ref('S0'), { schemas })
  const names = Object.keys(definitions ?? {})
  expect([isCut, names.length < 200]).toEqual([true, true])
  expect(definitions?.[names.at(-1) ?? '']).toMatchObject({ items: {} })
})

test.each([
  ['leads to nothing', ref('B'), /leads to nothing/],
  ['leads back to itself', ref('A'), /leads back to itself/],
  ['leads to another document', { $ref: 'other.yaml#/A' }, /leads to another document/],
  ['leads to an address', { $ref: 'https://example.com/a.json' }, /leads to another document/],
  ['leads into the prototype', { $ref: '#/constructor/name' }, /leads to nothing/],
])('a reference that %s is refused', (_, schema, sentence) => {
  expect(() => written(schema, { schemas: { A: ref('A') } })).toThrow(sentence)
})
