import { describe, expect, test } from 'vitest'
import { stringArguments, typedArguments, unnamedArguments } from './arguments.ts'

const schema = {
  type: 'object',
  additionalProperties: false,
  $defs: { colour: { enum: ['red', 'green'] }, size: { type: 'integer' } },
  properties: {
    text: { type: 'string' },
    count: { type: 'integer' },
    ratio: { type: 'number' },
    sure: { type: 'boolean' },
    tags: { type: 'array', items: { type: 'string' } },
    numbers: { type: 'array', items: { $ref: '#/$defs/size' } },
    options: { type: 'object' },
    maybe: { type: ['number', 'null'] },
    either: { anyOf: [{ type: 'number' }, { type: 'string' }] },
    colour: { $ref: '#/$defs/colour' },
    level: { enum: [1, 2, '3'] },
    only: { const: 7 },
    any: {},
    loop: { $ref: '#/properties/loop' },
  },
}

describe('an argument gets the type that the schema names', () => {
  test.each<[string[], unknown]>([
    [['text=3'], { text: '3' }],
    [['text='], { text: '' }],
    [['text=a=b'], { text: 'a=b' }],
    [['text=true'], { text: 'true' }],
    [['count=3'], { count: 3 }],
    [['count=-3'], { count: -3 }],
    [['ratio=0.5'], { ratio: 0.5 }],
    [['ratio=1e3'], { ratio: 1000 }],
    [['sure=true'], { sure: true }],
    [['sure=false'], { sure: false }],
    [['tags=a'], { tags: ['a'] }],
    [['tags=a', 'tags=3'], { tags: ['a', '3'] }],
    [['tags=["a","b"]'], { tags: ['a', 'b'] }],
    [['numbers=1', 'numbers=2'], { numbers: [1, 2] }],
    [['options={"a":1}'], { options: { a: 1 } }],
    [['maybe=null'], { maybe: null }],
    [['maybe=2'], { maybe: 2 }],
    [['either=2'], { either: 2 }],
    [['either=two'], { either: 'two' }],
    [['colour=red'], { colour: 'red' }],
    [['level=1'], { level: 1 }],
    [['level=3'], { level: '3' }],
    [['only=7'], { only: 7 }],
    [['any=7'], { any: 7 }],
    [['any=[1]'], { any: [1] }],
    [['any=word'], { any: 'word' }],
    [['loop=x'], { loop: 'x' }],
    [['text=a', 'count=1'], { text: 'a', count: 1 }],
  ])('%j', (pairs, expected) => {
    expect(typedArguments(pairs, schema)).toEqual(expected)
  })

  test('a schema that says nothing takes anything', () => {
    expect(typedArguments(['a=1', 'b=x', 'constructor=y'], {})).toEqual({ a: 1, b: 'x', constructor: 'y' })
  })
})

test('a schema that names itself again and again is read once', () => {
  const again = { anyOf: Array.from({ length: 1_000 }, () => ({ $ref: '#/$defs/again' })) }
  const bomb = { properties: { a: { $ref: '#/$defs/again' } }, $defs: { again, number: { type: 'integer' } } }
  expect(typedArguments(['a=1'], bomb)).toEqual({ a: 1 })
})

test.each(['#/%zz', '#/%2Fdefs', '#/constructor/name', 'https://example.com/schema'])(
  'a reference that leads nowhere allows anything: %s',
  ($ref) => {
    expect(typedArguments(['a=x'], { type: 'object', properties: { a: { $ref } } })).toEqual({ a: 'x' })
  },
)

describe('an argument that does not fit is refused, without its value', () => {
  test.each<[string[], RegExp]>([
    [['text'], /--arg takes name=value/],
    [['=hunter2'], /--arg takes name=value/],
    [['count=hunter2'], /count: the tool wants integer here/],
    [['count=1.5'], /wants integer/],
    [['count='], /wants integer/],
    [['ratio=Infinity'], /wants number/],
    [['sure=yes'], /wants boolean/],
    [['options=hunter2'], /wants object \(as JSON\)/],
    [['options={bad'], /wants object \(as JSON\)/],
    [['numbers=x'], /wants integer/],
    [['text=a', 'text=hunter2'], /text is given 2 times, but is no list/],
    [['none=hunter2'], /no argument "none"; it has text, count/],
  ])('%j', (pairs, sentence) => {
    expect(() => typedArguments(pairs, schema)).toThrow(sentence)
    expect(() => typedArguments(pairs, schema)).not.toThrow(/hunter2/)
  })
})

test("a prompt's arguments are strings, each given once", () => {
  expect(stringArguments(['a=1', 'b=true'])).toEqual({ a: '1', b: 'true' })
  expect(() => stringArguments(['a=1', 'a=2'])).toThrow(/given twice/)
})

test.each<[object, string[]]>([
  [{ properties: { a: {} } }, ['c', 'toString']],
  [{ properties: {} }, ['a', 'c', 'toString']],
  [{}, []],
  [{ properties: { a: {} }, additionalProperties: true }, []],
  [{ properties: { a: {} }, additionalProperties: { type: 'string' } }, []],
  [{ properties: { a: {} }, patternProperties: { '^c': {} } }, []],
  [{ properties: { a: {} }, allOf: [{ properties: { c: {} } }] }, []],
])('%j does not name %j', (schema, names) => {
  expect(unnamedArguments(['a=1', 'c=1', 'c=2', 'toString=1'], schema as never)).toEqual(names)
})
