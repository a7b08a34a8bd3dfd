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
