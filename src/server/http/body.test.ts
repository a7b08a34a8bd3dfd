import fc from 'fast-check'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { MAX_DEPTH } from '../../protocol/index.ts'
import { MAX_BODY_BYTES, parseBody, parseBytes, parseText as parse } from './body.ts'

const parseText = (text: string): unknown => parse(text, MAX_BODY_BYTES)
const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)

describe('a body', () => {
  test.each([
    ['an object with different keys', '{"a":1,"b":{"a":1},"c":[{"a":1},{"a":1}]}'],
    ['a value that equals a key', '{"a":"a","b":"a"}'],
    ['text that looks like JSON', '{"a":"{\\"a\\":1,\\"a\\":2}","b":"\\\\"}'],
    ['as deep as allowed', nested(MAX_DEPTH)],
    ['a key named __proto__', '{"__proto__":{"a":1},"a":":{,["}'],
    ['a scalar', '3'],
  ])('is taken: %s', (_, text) => {
    expect(parseText(text)).toEqual(JSON.parse(text))
  })

  test.each([
    ['a key twice', '{"a":1,"a":2}'],
    ['a key twice, far apart', '{"a":1,"b":{"c":[1,2]},"a":2}'],
    ['a key twice, spelled otherwise', '{"a":1,"\\u0061":2}'],
    ['a key twice in a nested object', '{"x":[{"a":1,"a":1}]}'],
    ['a key twice, the first time with an object', '{"a":{"b":1},"a":2}'],
    ['the key __proto__ twice', '{"__proto__":1,"__proto__":2}'],
    ['a key twice among many', `{${Array.from({ length: 40 }, (_, i) => `"k${i}":0`).join(',')},"k3":1}`],
    ['too deep', nested(MAX_DEPTH + 1)],
    ['far too deep', nested(200_000)],
    ['not JSON', '{a:1}'],
    ['empty', ''],
    ['two values', '{} {}'],
    ['a string without its end', '{"a":"b\\"'],
    ['a key without its end', '{"a":1,"b'],
    ['a key with an escape that is none', '{"\\x":1,"b":2}'],
    ['a lone backslash at the end', '{"a":"\\'],
  ])('is refused: %s', (_, text) => {
    expect(() => parseText(text)).toThrow(expect.objectContaining({ code: 'PARSE_FAILED' }))
  })

  test.each([[[0xff]], [[0x22, 0xc3, 0x28, 0x22]], [[0x22, 0xed, 0xa0, 0x80, 0x22]]])(
    'is refused when its bytes %j are not UTF-8',
    (bytes) => {
      expect(() => parseBytes(Buffer.from(bytes), MAX_BODY_BYTES)).toThrow('UTF-8')
    },
  )

  test.each([
    ['many values', `[${'1,'.repeat(20_000)}1]`],
    ['many keys', `{${Array.from({ length: 10_001 }, (_, i) => `"k${i}":0`).join(',')}}`],
    ['many lists in lists', `[${'[[]],'.repeat(7_000)}[]]`],
  ])('is refused before it is parsed: %s', (_, text) => {
    const spy = vi.spyOn(JSON, 'parse')
    onTestFinished(() => spy.mockRestore())
    expect(() => parseText(text)).toThrow('more than 20000 keys and values')
    expect(spy).not.toHaveBeenCalled()
  })

  test.each([
    ['many values', Array.from({ length: 20_001 }, () => 1)],
    ['many keys', Object.fromEntries(Array.from({ length: 10_001 }, (_, i) => [`k${i}`, 0]))],
    ['many lists in lists', Array.from({ length: 7000 }, () => [[[]]])],
  ])('is refused when a framework has parsed it: %s', (_, value) => {
    expect(() => parseBody(value, MAX_BODY_BYTES)).toThrow('more than 20000 keys and values')
  })

  test('is taken with as many values as are allowed, written or parsed', () => {
    const most = Array.from({ length: 19_998 }, () => 1)
    expect(parseBody(parseText(JSON.stringify(most)), MAX_BODY_BYTES)).toEqual(most)
  })

  test('may hold more where the limit of bodies is higher, and as much where it is lower', () => {
    const most = Array.from({ length: 39_998 }, () => 1)
    expect(parse(JSON.stringify(most), 2 * MAX_BODY_BYTES)).toEqual(most)
    expect(() => parse(JSON.stringify([...most, 1, 1, 1]), 2 * MAX_BODY_BYTES)).toThrow('more than 40000')
    expect(parse(JSON.stringify(most.slice(20_000)), 1000)).toHaveLength(19_998)
  })

  test('strings of escapes alone cost no more than others', () => {
    const long = `["${'\\"'.repeat(500_000)}","${'\\\\'.repeat(500_000)}"]`
    expect(parseText(long)).toEqual(JSON.parse(long))
  })

  test('whatever JSON.stringify writes is taken and means the same', () => {
    fc.assert(
      fc.property(fc.jsonValue({ maxDepth: 6 }), (value) => {
        const text = JSON.stringify(value)
        expect(parseText(text)).toEqual(JSON.parse(text))
      }),
      { numRuns: 2000 },
    )
  })

  test('an object that repeats one of its keys anywhere is refused', () => {
    const keys = fc.uniqueArray(fc.string({ unit: 'binary' }), { minLength: 1, maxLength: 40 })
    fc.assert(
      fc.property(keys, fc.nat(), (names, pick) => {
        const written = [...names, names[pick % names.length] as string].map((name) => `${JSON.stringify(name)}:[{}]`)
        expect(() => parseText(`{${written.join(',')}}`)).toThrow('same key twice')
      }),
      { numRuns: 300 },
    )
  })
})
