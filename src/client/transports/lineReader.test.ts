import { expect, test } from 'vitest'
import { lineReader } from './lineReader.ts'

function linesOf(chunks: readonly (string | Buffer)[], maxBytes?: number): string[] {
  const lines: string[] = []
  const read = lineReader((line) => lines.push(line), maxBytes)
  for (const chunk of chunks) read(Buffer.from(chunk))
  return lines
}

const euro = Buffer.from('€\n')

test.each<[string, (string | Buffer)[], string[]]>([
  ['one line', ['a\n'], ['a']],
  ['two lines in one chunk', ['a\nb\n'], ['a', 'b']],
  ['a line in pieces', ['a', 'b', 'c\nd', 'e\n'], ['abc', 'de']],
  ['a character in pieces', [euro.subarray(0, 1), euro.subarray(1)], ['€']],
  ['line ends of Windows', ['a\r\nb\r\n'], ['a', 'b']],
  ['empty lines', ['\n\na\n\n'], ['a']],
  ['other separators of lines, which JSON may hold', ['"a\u2028b\u2029c"\n'], ['"a\u2028b\u2029c"']],
  ['a line without its end', ['a\nb'], ['a']],
])('%s', (_, chunks, lines) => {
  expect(linesOf(chunks)).toEqual(lines)
})

test('a line that is too long is dropped, and the next one is read', () => {
  expect(linesOf(['12345', '67890', '1\nnext\n'], 10)).toEqual(['next'])
  expect(linesOf(['1234567890\n12345678901\nnext\n'], 10)).toEqual(['1234567890', 'next'])
})

test('a line in very many small chunks is dropped before they fill the memory', () => {
  const lines: string[] = []
  const read = lineReader((line) => lines.push(line), 10_000)
  for (let at = 0; at < 2000; at++) read(Buffer.from('x'))
  read(Buffer.from('\nnext\n'))
  expect(lines).toEqual(['next'])
})

test.each([
  ['in pieces', (line: string) => line.match(/.{1,1000}/gs) ?? []],
  ['whole', (line: string) => [line]],
  ['in pieces, the last of which is short', (line: string) => [line.slice(0, -3), line.slice(-3)]],
])('the beginning and the end of a line that is too long are told: %s', (_, cut) => {
  const [lines, edges]: [string[], string[]] = [[], []]
  const read = lineReader(
    (line) => lines.push(line),
    20_000,
    (found) => edges.push(found),
  )
  for (const chunk of cut(`begin${'x'.repeat(30_000)}end\r\nnext\n`)) read(Buffer.from(chunk))
  expect(lines).toEqual(['next'])
  expect(edges).toEqual([expect.stringMatching(/^beginx+end$/)])
  expect(edges[0]?.length).toBeLessThan(10_000)
})
