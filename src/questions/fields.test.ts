import { describe, expect, test } from 'vitest'
import { defaultOf } from './fieldCheck.ts'
import { type Field, readFields } from './fields.ts'

function fieldOf(property: unknown, required = false): Field {
  const [field] = readFields({ type: 'object', properties: { it: property }, required: required ? ['it'] : [] })
  return field!
}

const common = { key: 'it', title: 'it', description: undefined, required: false }
const free = { format: undefined, minLength: undefined, maxLength: undefined, default: undefined }
const red = { value: 'r', title: 'Red' }
const blue = { value: 'b', title: 'Blue' }

describe('what each property becomes', () => {
  test.each<[string, unknown, object]>([
    ['a string', { type: 'string' }, { kind: 'text', ...free }],
    [
      'a string with everything',
      {
        type: 'string',
        title: 'Mail',
        description: 'Yours',
        minLength: 3,
        maxLength: 9,
        format: 'email',
        default: 'a@b.c',
      },
      {
        kind: 'text',
        title: 'Mail',
        description: 'Yours',
        minLength: 3,
        maxLength: 9,
        format: 'email',
        default: 'a@b.c',
      },
    ],
    ['a string of an unknown format', { type: 'string', format: 'iban' }, { kind: 'text', ...free }],
    [
      'a number',
      { type: 'number', minimum: 0, maximum: 1.5, default: 1 },
      { kind: 'number', integer: false, minimum: 0, maximum: 1.5, default: 1 },
    ],
    [
      'an integer',
      { type: 'integer' },
      { kind: 'number', integer: true, minimum: undefined, maximum: undefined, default: undefined },
    ],
    ['a boolean', { type: 'boolean', default: false }, { kind: 'boolean', default: false }],
    [
      'a choice',
      { type: 'string', enum: ['r', 'b'], default: 'b' },
      {
        kind: 'choice',
        choices: [
          { value: 'r', title: 'r' },
          { value: 'b', title: 'b' },
        ],
        default: 'b',
      },
    ],
    [
      'a choice with titles',
      {
        type: 'string',
        oneOf: [
          { const: 'r', title: 'Red' },
          { const: 'b', title: 'Blue' },
        ],
      },
      { kind: 'choice', choices: [red, blue], default: undefined },
    ],
    [
      'a choice with the older names',
      { type: 'string', enum: ['r', 'b'], enumNames: ['Red', 'Blue'] },
      { kind: 'choice', choices: [red, blue], default: undefined },
    ],
    [
      'a choice with too few names',
      { type: 'string', enum: ['r', 'b'], enumNames: ['Red'] },
      { kind: 'choice', choices: [red, { value: 'b', title: 'b' }], default: undefined },
    ],
    [
      'choices',
      { type: 'array', items: { type: 'string', enum: ['r'] }, minItems: 1, maxItems: 2, default: ['r'] },
      { kind: 'choices', choices: [{ value: 'r', title: 'r' }], minItems: 1, maxItems: 2, default: ['r'] },
    ],
    [
      'choices with titles',
      { type: 'array', items: { anyOf: [{ const: 'r', title: 'Red' }] } },
      { kind: 'choices', choices: [red], minItems: undefined, maxItems: undefined, default: undefined },
    ],
    [
      'a default of another type',
      { type: 'number', default: 'seven' },
      { kind: 'number', integer: false, minimum: undefined, maximum: undefined, default: undefined },
    ],
    ['an object', { type: 'object', properties: {} }, { kind: 'unknown' }],
    ['a free list', { type: 'array', items: { type: 'string' } }, { kind: 'unknown' }],
    ['a choice of nothing', { enum: [] }, { kind: 'unknown' }],
    ['no schema at all', 7, { kind: 'unknown' }],
  ])('%s', (_, property, expected) => {
    expect(fieldOf(property)).toEqual({ ...common, ...expected })
  })
})

test('fields keep their order, their names and whether they are required', () => {
  const fields = readFields({
    type: 'object',
    properties: { b: { type: 'string' }, a: { type: 'string', title: 'First' }, ['__proto__']: { type: 'string' } },
    required: ['a'],
  })
  expect(fields.map(({ key, title, required }) => [key, title, required])).toEqual([
    ['b', 'b', false],
    ['a', 'First', true],
    // written in source, __proto__ in brackets is a property of its own, as JSON makes it
    ['__proto__', '__proto__', false],
  ])
})

// To go through them all for each of them would take minutes.
test('a form with very many fields and choices is read in one go', { timeout: 20_000 }, () => {
  const names = Array.from({ length: 60_000 }, (_, index) => `a name of some length ${index}`)
  const properties = Object.fromEntries(names.map((name) => [name, { type: 'string' }]))
  const choices = { type: 'array', items: { enum: names }, default: names.toReversed() }
  const fields = readFields({ properties: { ...properties, choices }, required: names })
  expect(defaultOf(fields.at(-1)!)).toHaveLength(names.length)
})

describe('a form that cannot be shown is refused, with plain words', () => {
  test.each<[string, unknown]>([
    ['nothing', undefined],
    ['no properties', { type: 'object' }],
    ['a required field that is not described', { properties: {}, required: ['x'] }],
    ['a required name that is no name', { properties: {}, required: [7] }],
    ['a required field named like an inherited member', { properties: {}, required: ['toString'] }],
    ['a required object', { properties: { '\u001b[2Jx': { type: 'object' } }, required: ['\u001b[2Jx'] }],
  ])('%s', (_, schema) => {
    expect(() => readFields(schema)).toThrow('it cannot be shown')
    expect(() => readFields(schema)).not.toThrow('\u001b')
  })
})
