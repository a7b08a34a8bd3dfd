import { describe, expect, test } from 'vitest'
import type { Json } from '../protocol/index.ts'
import { readFields } from './fields.ts'
import { INPUT_PREFIX, readForm } from './formData.ts'

function read(schema: Json, inputs: readonly (readonly [string, string])[], required = true) {
  const fields = readFields({ type: 'object', properties: { it: schema }, ...(required && { required: ['it'] }) })
  return readForm(fields, new URLSearchParams(inputs.map(([name, value]) => [`${INPUT_PREFIX}${name}`, value])))
}

const titled = [
  { const: 'r', title: 'Red' },
  { const: 'g', title: 'Green' },
]
const many = { type: 'array', items: { type: 'string', enum: ['a', 'b', 'c'] }, minItems: 1, maxItems: 2 }

describe('what a person enters becomes the value of the field', () => {
  test.each<[string, Json, string[], unknown]>([
    ['a text', { type: 'string' }, ['two\r\nlines'], 'two\nlines'],
    ['an email address', { type: 'string', format: 'email' }, ['ann@example.com'], 'ann@example.com'],
    ['an address', { type: 'string', format: 'uri' }, ['https://example.com/a'], 'https://example.com/a'],
    ['a date', { type: 'string', format: 'date' }, ['2026-07-28'], '2026-07-28'],
    ['a time', { type: 'string', format: 'date-time' }, ['2026-07-28T12:00:00Z'], '2026-07-28T12:00:00Z'],
    ['a text of two characters beyond the basic plane', { type: 'string', maxLength: 2 }, ['😀😀'], '😀😀'],
    ['a number', { type: 'number', minimum: 0.5 }, ['0.5'], 0.5],
    ['a whole number', { type: 'integer', maximum: 7 }, ['7'], 7],
    ['yes', { type: 'boolean' }, ['yes'], true],
    ['no', { type: 'boolean' }, ['no'], false],
    ['a choice', { type: 'string', enum: ['a', 'b'] }, ['b'], 'b'],
    ['a choice with a name', { type: 'string', enum: ['a'], enumNames: ['First'] }, ['a'], 'a'],
    ['a choice with a title', { type: 'string', oneOf: titled }, ['g'], 'g'],
    ['several choices', many, ['a', 'c'], ['a', 'c']],
    ['several choices with titles', { type: 'array', items: { anyOf: titled } }, ['r'], ['r']],
  ])('%s', (_, schema, inputs, value) => {
    const reading = read(
      schema,
      inputs.map((input) => ['it', input]),
    )
    expect(reading).toEqual({ ok: true, content: { it: value } })
  })
})

describe('what does not fit is named', () => {
  test.each<[Json, string[], string]>([
    [{ type: 'string' }, [], 'This field is required.'],
    [{ type: 'string' }, [''], 'This field is required.'],
    [{ type: 'boolean' }, [], 'This field is required.'],
    [{ type: 'boolean' }, ['maybe'], 'It must be true or false.'],
    [{ type: 'string', minLength: 3 }, ['ab'], 'It needs at least 3 characters.'],
    [{ type: 'string', maxLength: 3 }, ['abcd'], 'It may have at most 3 characters.'],
    [{ type: 'string', format: 'email' }, ['ann'], 'It must be an email address, such as ada@example.com.'],
    [{ type: 'string', format: 'uri' }, ['example'], 'It must be a whole address, such as https://example.com/page.'],
    [{ type: 'string', format: 'date' }, ['2026-02-99'], 'It must be a date, such as 2026-07-28.'],
    [
      { type: 'string', format: 'date-time' },
      ['noon'],
      'It must be a time with its zone, such as 2026-07-28T14:30:00Z.',
    ],
    [{ type: 'number' }, ['many'], 'It must be a number.'],
    [{ type: 'integer' }, ['1.5'], 'It must be a whole number.'],
    [{ type: 'number', minimum: 1 }, ['0'], 'It must be at least 1.'],
    [{ type: 'number', maximum: 1 }, ['2'], 'It must be at most 1.'],
    [{ type: 'string', enum: ['a'] }, ['b'], 'It must be one of the choices.'],
    [many, [], 'Choose at least 1.'],
    [many, ['a', 'b', 'c'], 'Choose at most 2.'],
    [many, ['z'], 'Each must be one of the choices.'],
  ])('%j with %j', (schema, inputs, issue) => {
    const reading = read(
      schema,
      inputs.map((input) => ['it', input]),
    )
    expect(reading).toEqual({ ok: false, issues: new Map([['it', issue]]) })
  })
})

test('an optional field that is empty is left out, whatever other names the form sends', () => {
  const inputs: [string, string][] = [
    ['it', ''],
    ['other', 'x'],
    ['__proto__', 'x'],
  ]
  expect(read({ type: 'string' }, inputs, false)).toEqual({ ok: true, content: {} })
})

test('a field may be called __proto__', () => {
  const fields = readFields(
    JSON.parse('{"properties":{"__proto__":{"type":"string"}},"required":["__proto__"]}') as Json,
  )
  const reading = readForm(fields, new URLSearchParams([[`${INPUT_PREFIX}__proto__`, 'x']]))
  expect(reading.ok && Object.entries(reading.content)).toEqual([['__proto__', 'x']])
})
