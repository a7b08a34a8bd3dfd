import { expect, test } from 'vitest'
import { faultOf } from './check.ts'

const pet = {
  type: 'object',
  required: ['name'],
  properties: { name: { type: 'string', minLength: 1 }, age: { type: 'integer', minimum: 0, exclusiveMaximum: 30 } },
  additionalProperties: false,
}

test.each<[string, object, unknown, RegExp | undefined]>([
  ['an object that fits', pet, { name: 'Rex', age: 3 }, undefined],
  ['another type', pet, [], /^the value must be of the type object$/],
  ['one of several types', { type: ['string', 'null'] }, null, undefined],
  ['a missing member', pet, {}, /^name is missing$/],
  ['a member that is none', pet, { name: 'a', x: 1 }, /^x is not allowed$/],
  ['a member of all objects', pet, { name: 'a', constructor: 1 }, /^constructor is not allowed$/],
  ['the prototype', pet, JSON.parse('{"name":"a","__proto__":{}}'), /^__proto__ is not allowed$/],
  ['a number that is too small', pet, { name: 'a', age: -1 }, /^age must be at least 0$/],
  ['an exclusive limit', pet, { name: 'a', age: 30 }, /^age must be less than 30$/],
  ['a fraction', pet, { name: 'a', age: 1.5 }, /^age must be of the type integer$/],
  ['an empty text', pet, { name: '' }, /^name must have at least this many characters: 1$/],
  ['an enum', { enum: ['a', 1, null] }, 'b', /^the value must be one of "a", 1, null$/],
  ['an object in an enum', { enum: [{ a: [1] }] }, { a: [1] }, undefined],
  ['a constant', { const: 'a' }, 'b', /must be one of "a"/],
  ['the items of a list', { items: { type: 'string' }, maxItems: 2 }, ['a', 1], /^1 must be of the type string$/],
  ['a list that is too long', { items: { type: 'string' }, maxItems: 1 }, ['a', 'b'], /at most this many items: 1$/],
  ['the first items of a list', { prefixItems: [{ type: 'string' }], items: { type: 'null' } }, ['a', 1], /^1 must be/],
  ['all of', { allOf: [{ required: ['a'] }, { required: ['b'] }] }, { a: 1 }, /^b is missing$/],
  ['any of', { anyOf: [{ type: 'string' }, { type: 'null' }] }, 1, /^the value fits none of its forms/],
  ['one of, where two fit', { oneOf: [{ type: 'string' }, { minLength: 1 }] }, 'a', undefined],
  ['not', { not: { type: 'string' } }, 'a', /^the value has a form that is not allowed$/],
  ['a reference', { $ref: '#/$defs/a', $defs: { a: { type: 'null' } } }, 1, /must be of the type null$/],
  ['a member in a member', { properties: { a: { items: pet } } }, { a: [{ name: 1 }] }, /^a\.0\.name must be/],
  ['what nothing is said about', {}, { a: 1 }, undefined],
])('%s', (_, schema, value, fault) => {
  const found = faultOf(schema as never, value)
  if (fault === undefined) expect(found).toBeUndefined()
  else expect(found).toMatch(fault)
})

const nested = (depth: number): unknown => (depth === 0 ? 1 : { c: nested(depth - 1) })
const self = { type: 'object', properties: { c: { $ref: '#/$defs/n' } } }

// Without a limit each of these takes longer than a test may.
test.each<[string, object, unknown]>([
  ['refers to itself in two choices', { $ref: '#/$defs/n', $defs: { n: { anyOf: [self, self] } } }, nested(100)],
  ['refers to itself and nothing else', { $ref: '#/$defs/n', $defs: { n: { allOf: [{ $ref: '#/$defs/n' }] } } }, 1],
  [
    'has a long enum for each item of a long list',
    { items: { enum: Array.from({ length: 20_000 }, (__, at) => `x${at}`) } },
    Array.from({ length: 20_000 }, () => 'x19999'),
  ],
])('a check ends where a schema %s', (_, schema, value) => {
  expect(faultOf(schema as never, value)).toMatch(/holds too much to be checked/)
})
