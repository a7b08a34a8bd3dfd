import { Readable } from 'node:stream'
import { expect, test } from 'vitest'
import { readLines } from './lines.ts'

/** The lines of these chunks. */
async function linesOf(chunks: readonly string[], maxBytes = 100): Promise<string[]> {
  const lines: string[] = []
  const input = Readable.from(chunks.map((chunk) => Buffer.from(chunk)))
  await readLines(input, maxBytes, (line) => void lines.push(line.toString()))
  return lines
}

test.each([
  ['in one chunk', ['a\nb\n'], ['a', 'b']],
  ['over several chunks', ['a', 'b', 'c\nd', 'e\n'], ['abc', 'de']],
  ['with a break of two characters, also over two chunks', ['a\r\nb\r', '\nc\r'], ['a', 'b', 'c']],
  ['without a break at the end', ['a\nb'], ['a', 'b']],
  ['with empty lines between them', ['\n\na\n\r\n\nb\n'], ['a', 'b']],
  ['of none', [], []],
])('lines %s', async (_, chunks, lines) => {
  expect(await linesOf(chunks)).toEqual(lines)
})

test('a line of exactly the limit is taken', async () => {
  expect(await linesOf(['abcde\n', 'ab', 'cde\n'], 5)).toEqual(['abcde', 'abcde'])
})

test('a line over the limit is dropped and reported once, and the next one is taken', async () => {
  expect(await linesOf(['abcdef\nab\n'], 5)).toEqual(['too long', 'ab'])
  expect(await linesOf(['abc', 'def', 'ghi', 'jkl\nab\nabcdef\ncd\n'], 5)).toEqual(['too long', 'ab', 'too long', 'cd'])
})
