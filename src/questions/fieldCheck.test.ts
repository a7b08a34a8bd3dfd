import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { contentProblems, defaultOf, problemOf, readTyped } from './fieldCheck.ts'
import { type Field, type NumberField, readFields, type TextField } from './fields.ts'

function fieldOf(property: object, required = true): Field {
  return readFields({ properties: { it: property }, required: required ? ['it'] : [] })[0]!
}

const colours = ['red', 'green', 'blue']

describe('whether a value fits', () => {
  test.each<[object, unknown, boolean]>([
    [{ type: 'string' }, '', true],
    [{ type: 'string' }, 7, false],
    [{ type: 'string', minLength: 2, maxLength: 3 }, 'a', false],
    [{ type: 'string', minLength: 2, maxLength: 3 }, 'ab', true],
    [{ type: 'string', minLength: 2, maxLength: 3 }, 'abcd', false],
    [{ type: 'string', maxLength: 2 }, '😀😀', true],
    [{ type: 'string', minLength: 2 }, '😀', false],
    [{ type: 'string', format: 'email' }, 'ada@example.com', true],
    [{ type: 'string', format: 'email' }, 'ada@', false],
    [{ type: 'string', format: 'email' }, `${'a-'.repeat(5000)}@`, false],
    [{ type: 'string', format: 'uri' }, 'https://example.com/a?b#c', true],
    [{ type: 'string', format: 'uri' }, `https://a/${'b'.repeat(2038)}`, true],
    [{ type: 'string', format: 'uri' }, `https://a/${'b'.repeat(2039)}`, false],
    [{ type: 'string', format: 'uri' }, 'urn:isbn:0451450523', true],
    [{ type: 'string', format: 'uri' }, 'example.com', false],
    [{ type: 'string', format: 'uri' }, 'https://a b', false],
    [{ type: 'string', format: 'date' }, '2024-02-29', true],
    [{ type: 'string', format: 'date' }, '2026-02-29', false],
    [{ type: 'string', format: 'date' }, '28.7.2026', false],
    [{ type: 'string', format: 'date-time' }, '2026-07-28T14:30:00Z', true],
    [{ type: 'string', format: 'date-time' }, '2026-07-28T14:30:00+02:00', true],
    [{ type: 'string', format: 'date-time' }, '2026-07-28T14:30:00', false],
    [{ type: 'string', format: 'date-time' }, '2026-07-28', false],
    [{ type: 'number' }, 1.5, true],
    [{ type: 'number' }, '1.5', false],
    [{ type: 'number' }, Number.NaN, false],
    [{ type: 'number' }, Number.POSITIVE_INFINITY, false],
    [{ type: 'number', minimum: 0, maximum: 10 }, 0, true],
    [{ type: 'number', minimum: 0, maximum: 10 }, -0.1, false],
    [{ type: 'number', minimum: 0, maximum: 10 }, 10.1, false],
    [{ type: 'integer' }, 3, true],
    [{ type: 'integer' }, 3.5, false],
    [{ type: 'integer' }, 2 ** 60, false],
    [{ type: 'boolean' }, false, true],
    [{ type: 'boolean' }, 'false', false],
    [{ enum: colours }, 'red', true],
    [{ enum: colours }, 'pink', false],
    [{ oneOf: [{ const: 'r', title: 'Red' }] }, 'r', true],
    [{ oneOf: [{ const: 'r', title: 'Red' }] }, 'Red', false],
    [{ type: 'array', items: { enum: colours } }, [], true],
    [{ type: 'array', items: { enum: colours } }, 'red', false],
    [{ type: 'array', items: { enum: colours } }, ['red', 'pink'], false],
    [{ type: 'array', items: { enum: colours } }, ['red', 'red'], false],
    [{ type: 'array', items: { enum: colours }, minItems: 1, maxItems: 2 }, [], false],
    [{ type: 'array', items: { enum: colours }, minItems: 1, maxItems: 2 }, ['red', 'blue'], true],
    [{ type: 'array', items: { enum: colours }, minItems: 1, maxItems: 2 }, colours, false],
  ])('%j: %j is %s', (property, value, fits) => {
    expect(problemOf(fieldOf(property), value) === undefined).toBe(fits)
  })

  test('a problem never repeats the value', () => {
    const secret = 'hunter2hunter2'
    for (const property of [
      { type: 'string', maxLength: 3 },
      { type: 'number' },
      { enum: colours },
      { type: 'string', format: 'email' },
    ]) {
      expect(problemOf(fieldOf(property), secret)).not.toContain(secret)
    }
  })
})

describe('what a person typed', () => {
  const typed = (property: object, line: string, required = true) =>
    readTyped(fieldOf(property, required) as TextField | NumberField, line)

  test.each<[object, string, unknown]>([
    [{ type: 'string' }, ' two words ', ' two words '],
    [{ type: 'string', format: 'email' }, ' ada@example.com ', 'ada@example.com'],
    [{ type: 'number' }, '7', 7],
    [{ type: 'number' }, ' -1.5 ', -1.5],
    [{ type: 'number' }, '1e3', 1000],
    [{ type: 'number' }, '.5', 0.5],
    [{ type: 'integer' }, '1e3', 1000],
  ])('%j: %j means %j', (property, line, value) => {
    expect(typed(property, line)).toEqual({ value })
  })

  test.each<[object, string]>([
    [{ type: 'number' }, 'seven'],
    [{ type: 'number' }, '0x10'],
    [{ type: 'number' }, '1,5'],
    [{ type: 'number' }, 'Infinity'],
    [{ type: 'number' }, '1e999'],
    [{ type: 'number' }, '1 2'],
    [{ type: 'integer' }, '1.5'],
    [{ type: 'string', minLength: 5 }, 'abc'],
  ])('%j: %j is no answer', (property, line) => {
    expect(typed(property, line)).toHaveProperty('problem')
  })

  test('an optional field may be left empty, a required one not', () => {
    for (const property of [{ type: 'string' }, { type: 'string', minLength: 3 }, { type: 'number' }]) {
      expect(typed(property, '', false)).toEqual({ value: undefined })
      expect(typed(property, '')).toHaveProperty('problem')
    }
  })

  test('a number that was written out is read as the same number', () => {
    fc.assert(
      fc.property(fc.double({ noNaN: true, noDefaultInfinity: true }), (value) => {
        expect(typed({ type: 'number' }, String(value))).toEqual({ value: Number(String(value)) })
      }),
    )
  })

  test('what is read always fits its field', () => {
    const property = fc.constantFrom(
      { type: 'string', minLength: 2, maxLength: 5 },
      { type: 'integer', minimum: -5 },
      { type: 'string', format: 'date' },
    )
    const line = fc.oneof(
      fc.string(),
      fc.integer().map(String),
      fc.date({ noInvalidDate: true }).map((date) => date.toISOString().slice(0, 10)),
    )
    fc.assert(
      fc.property(property, line, (property, line) => {
        const read = typed(property, line)
        if ('value' in read) expect(problemOf(fieldOf(property), read.value)).toBeUndefined()
      }),
    )
  })
})

describe('the content of a form', () => {
  const fields = readFields({
    properties: { name: { type: 'string' }, age: { type: 'number', minimum: 18 }, more: { type: 'object' } },
    required: ['name'],
  })

  test.each<[unknown, number]>([
    [{ name: 'Ada' }, 0],
    [{ name: 'Ada', age: 36, more: {} }, 0],
    [{}, 1],
    [{ name: 7 }, 1],
    [{ name: 'Ada', age: 3 }, 1],
    [{ age: 3 }, 2],
    [{ name: 'Ada', admin: true }, 1],
    [{ name: 'Ada', toString: 'x' }, 1],
    [JSON.parse('{"name":"Ada","__proto__":{"age":1}}'), 1],
    [['Ada'], 1],
    [undefined, 1],
  ])('%j has %i problems', (content, count) => {
    expect(contentProblems(fields, content)).toHaveLength(count)
  })
})

test('a problem with yes or no is told in the words of JSON: at a terminal both are chosen from a list', () => {
  const fields = readFields({ properties: { sure: { type: 'boolean' } } })
  expect(contentProblems(fields, { sure: 'yes' })).toEqual(['"sure": It must be true or false.'])
})

test.each([
  [{ type: 'string' }, 'It must be text.'],
  [{ type: 'number' }, 'It must be a number.'],
  [{ type: 'boolean' }, 'It must be true or false.'],
  [{ enum: colours }, 'It must be one of the choices.'],
])('null is a value, and none that a field %j takes, although it may be left out', (property, problem) => {
  const fields = readFields({ properties: { it: property }, required: [] })
  expect(contentProblems(fields, { it: null })).toEqual([`"it": ${problem}`])
  expect(contentProblems(fields, {})).toEqual([])
})

test('a default counts only where its own field accepts it', () => {
  expect(defaultOf(fieldOf({ type: 'integer', minimum: 5, default: 7 }))).toBe(7)
  expect(defaultOf(fieldOf({ type: 'integer', minimum: 5, default: 3 }))).toBeUndefined()
  expect(defaultOf(fieldOf({ enum: colours, default: 'pink' }))).toBeUndefined()
  expect(defaultOf(fieldOf({ type: 'boolean', default: false }))).toBe(false)
  expect(defaultOf(fieldOf({ type: 'object' }, false))).toBeUndefined()
})
