import { toStandardJsonSchema } from '@valibot/to-json-schema'
import { type } from 'arktype'
import * as v from 'valibot'
import { describe, expect, expectTypeOf, test } from 'vitest'
import { z } from 'zod'
import { askForm, elicitForm } from '../handler/questions.ts'
import { compileSchema, type InferSchema, type SchemaLike } from './schema.ts'

const json = {
  type: 'object',
  properties: { name: { type: 'string' }, age: { type: 'integer', minimum: 0 } },
  required: ['name'],
}

const sameSchema: [string, SchemaLike][] = [
  ['zod', z.object({ name: z.string(), age: z.int().min(0).optional() })],
  [
    'valibot',
    toStandardJsonSchema(
      v.object({ name: v.string(), age: v.optional(v.pipe(v.number(), v.integer(), v.minValue(0))) }),
    ),
  ],
  ['arktype', type({ name: 'string', 'age?': 'number.integer >= 0' })],
  ['JSON Schema', json],
  ['JSON Schema, 2020-12 by name', { $schema: 'https://json-schema.org/draft/2020-12/schema', ...json }],
  ['JSON Schema, draft-07', { $schema: 'http://json-schema.org/draft-07/schema#', ...json }],
]

describe.each(sameSchema)('a schema of %s', (_, schema) => {
  const compiled = compileSchema(schema, 'input', 'The input')

  test('describes itself on the wire', () => {
    expect(compiled.json).toMatchObject({
      type: 'object',
      properties: { name: { type: 'string' } },
      required: ['name'],
    })
  })

  test.each([
    [{ name: 'Ada' }, true],
    [{ name: 'Ada', age: 36 }, true],
    [{}, false],
    [{ name: 3 }, false],
    [{ name: 'Ada', age: -1 }, false],
    [{ name: 'Ada', age: 1.5 }, false],
    [null, false],
    ['Ada', false],
  ])('checks %j: %s', async (value, ok) => {
    const checked = await compiled.check(value)
    expect(checked.ok).toBe(ok)
    if (!checked.ok) expect(checked.issues.length).toBeGreaterThan(0)
  })

  test('is compiled once', () => {
    expect(compileSchema(schema, 'input', 'The input')).toBe(compiled)
  })

  test('makes a form', async () => {
    const form = askForm({ message: 'Who?', schema })
    expect(form.request.params).toMatchObject({
      message: 'Who?',
      requestedSchema: { type: 'object', required: ['name'] },
    })
    expect(Object.keys((form.request.params as { requestedSchema: object }).requestedSchema)).toEqual([
      'type',
      'properties',
      'required',
    ])
    expect(await form.read('who', { action: 'accept', content: { name: 'Ada' } })).toEqual({
      ok: true,
      value: { name: 'Ada' },
    })
    expect(await form.read('who', { action: 'accept', content: {} })).toMatchObject({ ok: false })
    expect(await elicitForm({ message: 'Who?', schema }).read('who', { action: 'cancel' })).toEqual({
      ok: true,
      value: { action: 'cancel' },
    })
  })
})

test('a handler gets the type its schema promises', () => {
  const zod = z.object({ name: z.string(), when: z.coerce.date() })
  expectTypeOf<InferSchema<typeof zod>>().toEqualTypeOf<{ name: string; when: Date }>()
  expectTypeOf<InferSchema<typeof json>>().toEqualTypeOf<Record<string, unknown>>()
})

test('what a schema makes of a value is what the handler gets', async () => {
  const trimmed = compileSchema(z.object({ name: z.string().trim().default('nobody') }), 'input', 'The input')
  expect(await trimmed.check({ name: ' Ada ' })).toEqual({ ok: true, value: { name: 'Ada' } })
  expect(await trimmed.check({})).toEqual({ ok: true, value: { name: 'nobody' } })
})

test('a check may take its time', async () => {
  const slow = compileSchema(
    z.object({ name: z.string().refine(async (name) => name === 'Ada') }),
    'input',
    'The input',
  )
  expect((await slow.check({ name: 'Ada' })).ok).toBe(true)
  expect((await slow.check({ name: 'Bob' })).ok).toBe(false)
})

describe('uniqueItems of a plain JSON Schema', () => {
  const { check } = compileSchema({ type: 'array', uniqueItems: true }, 'input', 'The input')

  test.each([
    [[1, '1', [1], { a: 1 }, null, 'null', true, 'true', 'a,b', ['a', 'b'], ['a,b']], true],
    [
      [
        { a: 1, b: [{ c: 2, d: 3 }] },
        { b: [{ d: 3, c: 2 }], a: 1 },
      ],
      false,
    ],
    [[0, -0], false],
    [[Number.POSITIVE_INFINITY, null], true],
    [['x', 'x'], false],
    [[], true],
  ])('of %j: %s', async (items, ok) => {
    expect((await check(items)).ok).toBe(ok)
  })

  test('takes a long list in no time, also of objects', async () => {
    const items = Array.from({ length: 10_000 }, (_, index) => ({ a: { b: [index] }, c: { d: 1 } }))
    const begun = process.cpuUsage()
    expect((await check(items)).ok).toBe(true)
    const { user } = process.cpuUsage(begun)
    expect(user / 1000).toBeLessThan(500) // comparing each with each takes 20 s
  })

  test('may be false', async () => {
    const either = compileSchema({ type: 'array', uniqueItems: false }, 'input', 'The input')
    expect((await either.check([1, 1])).ok).toBe(true)
  })
})

test('the issues of a plain JSON Schema are shortened, too', async () => {
  const schema = { type: 'object', additionalProperties: { type: 'string' } }
  const checked = await compileSchema(schema, 'input', 'The input').check({ ['k'.repeat(100_000)]: 1 })
  expect(checked.ok).toBe(false)
  expect(JSON.stringify(checked).length).toBeLessThan(500)
})

test.each([
  ['a valibot schema that cannot describe itself', v.object({ name: v.string() }), 'toStandardJsonSchema'],
  [
    'an unknown dialect',
    { $schema: 'https://json-schema.org/draft/2019-09/schema', type: 'object' },
    '2020-12 and draft-07',
  ],
  ['a schema that is none', { type: 'nonsense' }, 'not a usable JSON Schema'],
  [
    'a reference to the network',
    { type: 'object', properties: { a: { $ref: 'https://example.com/a.json' } } },
    'not a usable JSON Schema',
  ],
])('%s is refused with what to do', (_, schema, words) => {
  expect(() => compileSchema(schema as SchemaLike, 'input', 'The input of tool "x"')).toThrow(words)
})

test.each([
  ['a nested field', z.object({ address: z.object({ street: z.string() }) }), '"address"'],
  ['no object', z.string(), 'must be an object'],
])('a form with %s is refused', (_, schema, words) => {
  expect(() => askForm({ message: 'Who?', schema })).toThrow(words)
})
