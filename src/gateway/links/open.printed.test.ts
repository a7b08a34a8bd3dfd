import { expect, test } from 'vitest'
import { maskOf, PrintedLines } from './open.ts'

function printed(...lines: readonly string[]): readonly string[] {
  const all = new PrintedLines()
  for (const line of lines) all.add(line)
  return all.lines
}

const numbered = (count: number): string[] => Array.from({ length: count }, (_, index) => `line ${index}`)

test('the first five and the last fifteen lines are kept', () => {
  expect(printed(...numbered(20))).toEqual(numbered(20))
  expect(printed(...numbered(21))).toEqual([...numbered(5), '(1 more line)', ...numbered(21).slice(6)])
  expect(printed(...numbered(99))).toEqual([...numbered(5), '(79 more lines)', ...numbered(99).slice(84)])
})

test('no more than 2,000 characters are kept at each end', () => {
  const [a, b, c] = ['a', 'b', 'c'].map((letter) => letter.repeat(1500))
  expect(printed(a as string, b as string, c as string)).toEqual([a, '(1 more line)', c])
  expect(printed('a'.repeat(5000))).toEqual(['a'.repeat(2000)])
})

test('colours, control characters and empty lines are left out', () => {
  expect(printed('\x1b[31mError:\x1b[0m no\x07 key\r', '', ' \r', 'a\tb')).toEqual(['Error: no key', 'a\tb'])
})

test.each([
  { values: ['secret-1'], line: 'no secret-1, secret-1', masked: 'no ***, ***' },
  { values: ['secret', 'secret-1'], line: 'secret-1 secret', masked: '*** ***' },
  { values: ['short', ''], line: 'short', masked: 'short' },
  { values: ['first line\nsecond line\n'], line: '> second line', masked: '> ***' },
  { values: ['$&.*secret'], line: 'a $&.*secret', masked: 'a ***' },
])('values of six characters and more are masked: $line', ({ values, line, masked }) => {
  expect(maskOf(values)(line)).toBe(masked)
})
