import fc from 'fast-check'
import { expect, test } from 'vitest'
import { plainText } from '../../client/index.ts'
import { printableJson } from './json.ts'

test.each([
  ['colours and commands', '\u001b[31mred\u0007'],
  ['commands of one byte', '\u009b2J\u0085'],
  ['what turns the direction of writing', 'a\u202eb\u2066c'],
  ['what cannot be seen', 'a\u200bb\ufeffc\u{e0041}d'],
  ['separators of lines', 'a\u2028b\u2029c'],
  ['delete', 'a\u007f'],
])('%s is escaped and stays the same', (_, value) => {
  const text = printableJson({ value })
  expect(JSON.parse(text)).toEqual({ value })
  expect(text).toMatch(/^[\x20-\x7e\n]+$/)
})

test('whatever the value is, nothing is left to make plain, and it is read as the same', () => {
  const wild = fc.oneof(
    fc.string({ unit: 'binary' }),
    fc.constantFrom('\u3164', '\u034f', '\ufe0f', 'e\u0301\u0301\u0301'),
  )
  const names = fc.array(wild).map((parts) => parts.join(''))
  fc.assert(
    fc.property(names, names, (name, value) => {
      const text = printableJson({ [name]: value })
      expect(plainText(text)).toBe(text)
      expect(JSON.parse(text)).toEqual({ [name]: value })
    }),
  )
})

test('words in any language stay readable, and nothing is null', () => {
  expect(printableJson('Grüße, 世界 👋')).toBe('"Grüße, 世界 👋"')
  expect(printableJson(undefined)).toBe('null')
})

test('what nests deeper than it can be written is an error with a sentence', () => {
  const deep: unknown = JSON.parse(`${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}`)
  expect(() => printableJson(deep)).toThrow(expect.objectContaining({ code: 'MESSAGE_UNREADABLE' }))
})
