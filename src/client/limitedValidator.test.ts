import { AjvJsonSchemaValidator } from '@modelcontextprotocol/client/validators/ajv'
import { expect, test } from 'vitest'
import { limitedValidator } from './limitedValidator.ts'

/** A check that ends well before this does so on a busy machine, too. */
const LIMIT_MS = 500
const validator = limitedValidator(() => new AjvJsonSchemaValidator(), LIMIT_MS)
/** For checks that end: however slow the machine is, they are not given up. */
const patient = limitedValidator(() => new AjvJsonSchemaValidator(), 60_000)
const word = (pattern: string) => ({ type: 'object', properties: { word: { type: 'string', pattern } } }) as const

test.each([
  ['a schema without patterns', { type: 'object', properties: { word: { type: 'string' } } } as const],
  ['a schema with a pattern', word('^a+$')],
])('%s is checked as ever', (_, schema) => {
  const check = patient.getValidator(schema)
  expect(check({ word: 'aaa' })).toMatchObject({ valid: true, data: { word: 'aaa' } })
  expect(check({ word: 7 })).toMatchObject({ valid: false })
})

test('a check that would take years is given up, and the next one is not', () => {
  const check = validator.getValidator(word('^(a+)+$'))
  expect(() => check({ word: `${'a'.repeat(60)}!` })).toThrow(/took more than 500 ms/)
  expect(check({ word: 'aaa' })).toMatchObject({ valid: true })
})

test('references that branch at each level end, too', () => {
  const twice = { properties: { in: { $ref: '#/$defs/x' } }, required: ['in'] }
  const schema = { $ref: '#/$defs/x', $defs: { x: { anyOf: [{ allOf: [twice, { not: {} }] }, twice] } } }
  let value: object = {}
  for (let depth = 0; depth < 60; depth++) value = { in: value }
  expect(() => validator.getValidator(schema as never)(value)).toThrow(/took more than/)
})

const many = <Item>(count: number, item: Item): Item[] => Array.from({ length: count }, () => item)

// Each takes many seconds without a limit.
test.each([
  ['many conditions for each item', { items: { allOf: many(300, { minLength: 1 }) } }, many(3_000_000, 'ab')],
  ['long lists of values', { items: { enum: many(30_000, ['x']) } }, many(30_000, ['y'])],
])('a schema of plain keywords has the limit, too: %s', (_, schema, value) => {
  expect(() => validator.getValidator(schema as never)(value)).toThrow(/took more than 500 ms/)
})

test('a value that nests deep is checked as ever', () => {
  const deep: unknown = JSON.parse(`${'['.repeat(50_000)}${']'.repeat(50_000)}`)
  expect(patient.getValidator({ type: 'object' })({ deep })).toMatchObject({ valid: true })
})

test('a schema that takes long to compile costs only the calls of its own tool', () => {
  const wide = {
    unevaluatedProperties: false,
    allOf: many(4000, 0).map((_, at) => ({ properties: { [`p${at}`]: {} } })),
  }
  const checks = many(20, wide).map((same) => validator.getValidator(structuredClone(same)))
  expect(() => checks[0]?.({})).toThrow(/took more than 500 ms/)
  const last = validator.getValidator(word('^a+$'))
  expect(last({ word: 'aaa' })).toMatchObject({ valid: true })
  expect(last({ word: 'b' })).toMatchObject({ valid: false })
})

test('what is wrong with a schema is said with its first check', () => {
  expect(() => patient.getValidator(word('('))({ word: 'a' })).toThrow(/regular expression/i)
})
