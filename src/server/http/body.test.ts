import fc from 'fast-check'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { MAX_DEPTH, parseBytes, parseText } from './body.ts'

const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)

describe('a body', () => {
  test.each([
    ['an object with different keys', '{"a":1,"b":{"a":1},"c":[{"a":1},{"a":1}]}'],
    ['a value that equals a key', '{"a":"a","b":"a"}'],
    ['text that looks like JSON', '{"a":"{\\"a\\":1,\\"a\\":2}","b":"\\\\"}'],
    ['as deep as allowed', nested(MAX_DEPTH)],
    ['a scalar', '3'],
  ])('is taken: %s', (_, text) => {
    expect(parseText(text)).toEqual(JSON.parse(text))
  })

  test.each([
    ['a key twice', '{"a":1,"a":2}'],
    ['a key twice, far apart', '{"a":1,"b":{"c":[1,2]},"a":2}'],
    ['a key twice, spelled otherwise', '{"a":1,"\\u0061":2}'],
    ['a key twice in a nested object', '{"x":[{"a":1,"a":1}]}'],
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
      expect(() => parseBytes(Buffer.from(bytes))).toThrow('UTF-8')
    },
  )

  test.each([
    ['many values', `[${'1,'.repeat(50_000)}1]`],
    ['many keys', `{${Array.from({ length: 50_001 }, (_, i) => `"k${i}":0`).join(',')}}`],
    ['many lists in lists', `[${'[[]],'.repeat(30_000)}[]]`],
  ])('is refused before it is parsed: %s', (_, text) => {
    const parse = vi.spyOn(JSON, 'parse')
    onTestFinished(() => parse.mockRestore())
    expect(() => parseText(text)).toThrow('more than 40000 values')
    expect(parse).not.toHaveBeenCalled()
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
