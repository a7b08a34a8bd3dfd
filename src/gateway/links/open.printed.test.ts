import { expect, test } from 'vitest'
import { maskOf, PrintedLines } from './open.ts'

function tailOf(...lines: readonly string[]): readonly string[] {
  const tail = new PrintedLines('last')
  for (const line of lines) tail.add(line)
  return tail.lines
}

test('the last ten lines are kept', () => {
  const lines = Array.from({ length: 15 }, (_, index) => `line ${index}`)
  expect(tailOf(...lines)).toEqual(lines.slice(5))
})

test('no more than 2,000 characters are kept, the last ones', () => {
  expect(tailOf('a'.repeat(1500), 'b'.repeat(1500))).toEqual(['b'.repeat(1500)])
  expect(tailOf('a'.repeat(5000))).toEqual(['a'.repeat(2000)])
})

test('of what comes before all else, the first ten lines are kept, and no more than 2,000 characters', () => {
  const head = new PrintedLines('first')
  for (let at = 0; at < 15; at++) head.add(`\x1b[31mline ${at}`)
  expect(head.lines).toEqual(Array.from({ length: 10 }, (_, at) => `line ${at}`))
  const long = new PrintedLines('first')
  for (const letter of ['a', '', 'b', 'c']) long.add(letter.repeat(1500))
  expect(long.lines).toEqual(['a'.repeat(1500), 'b'.repeat(500)])
})

test('colours, control characters and empty lines are left out', () => {
  expect(tailOf('\x1b[31mError:\x1b[0m no\x07 key\r', '', ' \r', 'a\tb')).toEqual(['Error: no key', 'a\tb'])
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
