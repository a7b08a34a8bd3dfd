import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { assertSmallText, MAX_DEPTH, maxItems, parseJson } from './jsonText.ts'

const MB = 1024 * 1024
const nested = (depth: number): string => '['.repeat(depth) + ']'.repeat(depth)
const refused = expect.objectContaining({ code: 'PARSE_FAILED' })

describe('the text of a peer', () => {
  test.each([
    ['as deep as allowed', nested(MAX_DEPTH)],
    ['many brackets in a string', JSON.stringify('{['.repeat(1000))],
    ['many brackets side by side', `[${'[],'.repeat(1000)}[]]`],
    ['not JSON', '{a:1}'],
  ])('is taken: %s', (_, text) => {
    expect(() => assertSmallText(text, MB)).not.toThrow()
  })

  test.each([
    ['too deep', nested(MAX_DEPTH + 1), 'nests deeper than 128 levels'],
    ['too deep after many short ones', `[${'[],'.repeat(1000)}${nested(MAX_DEPTH)}]`, 'nests deeper'],
    ['too many values', `[${'1,'.repeat(20_000)}1]`, 'more than 20000 keys and values'],
    ['too long', `"${'x'.repeat(MB)}"`, `longer than ${MB} bytes`],
  ])('is refused before it is parsed: %s', (_, text, why) => {
    const parse = vi.spyOn(JSON, 'parse')
    onTestFinished(() => parse.mockRestore())
    expect(() => assertSmallText(text, MB)).toThrow(refused)
    expect(() => assertSmallText(text, MB)).toThrow(why)
    expect(parseJson(text, MB)).toBeUndefined()
    expect(parse).not.toHaveBeenCalled()
  })

  test('may hold more where it may be larger', () => {
    expect([MB, 4 * MB, 16 * MB, 64 * MB].map(maxItems)).toEqual([20_000, 20_000, 80_000, 320_000])
  })

  test('is a value, or nothing where it is not JSON', () => {
    expect(parseJson('{"a":[1]}')).toEqual({ a: [1] })
    expect(parseJson('{a:1}')).toBeUndefined()
  })
})
