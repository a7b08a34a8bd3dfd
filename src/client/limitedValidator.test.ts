import { AjvJsonSchemaValidator } from '@modelcontextprotocol/client/validators/ajv'
import { expect, test } from 'vitest'
import { limitedValidator } from './limitedValidator.ts'

const validator = limitedValidator(new AjvJsonSchemaValidator(), 200)
const word = (pattern: string) => ({ type: 'object', properties: { word: { type: 'string', pattern } } }) as const

test.each([
  ['a schema without patterns', { type: 'object', properties: { word: { type: 'string' } } } as const],
  ['a schema with a pattern', word('^a+$')],
])('%s is checked as ever', (_, schema) => {
  const check = validator.getValidator(schema)
  expect(check({ word: 'aaa' })).toMatchObject({ valid: true, data: { word: 'aaa' } })
  expect(check({ word: 7 })).toMatchObject({ valid: false })
})

test('a check that would take years is given up, and the next one is not', () => {
  const check = validator.getValidator(word('^(a+)+$'))
  expect(() => check({ word: `${'a'.repeat(60)}!` })).toThrow(/took more than 200 ms/)
  expect(check({ word: 'aaa' })).toMatchObject({ valid: true })
})

test('references that branch at each level end, too', () => {
  const twice = { properties: { in: { $ref: '#/$defs/x' } }, required: ['in'] }
  const schema = { $ref: '#/$defs/x', $defs: { x: { anyOf: [{ allOf: [twice, { not: {} }] }, twice] } } }
  let value: object = {}
  for (let depth = 0; depth < 60; depth++) value = { in: value }
  expect(() => validator.getValidator(schema as never)(value)).toThrow(/took more than/)
})

test('what is wrong with a schema is said as ever', () => {
  expect(() => validator.getValidator(word('('))).toThrow(/regular expression/i)
})
