import { expect, test } from 'vitest'
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

test('words in any language stay readable, and nothing is null', () => {
  expect(printableJson('Grüße, 世界 👋')).toBe('"Grüße, 世界 👋"')
  expect(printableJson(undefined)).toBe('null')
})

test('what nests deeper than it can be written is an error with a sentence', () => {
  const deep: unknown = JSON.parse(`${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}`)
  expect(() => printableJson(deep)).toThrow(expect.objectContaining({ code: 'MESSAGE_UNREADABLE' }))
})
