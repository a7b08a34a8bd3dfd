import { expect, test } from 'vitest'
import { alignColumns, wrapText } from './layout.ts'

test.each<[string, number, readonly string[]]>([
  ['', 5, ['']],
  ['one two three', Infinity, ['one two three']],
  ['one two three', 7, ['one two', 'three']],
  ['one two three', 6, ['one', 'two', 'three']],
  ['a very-long-word b', 4, ['a', 'very-long-word', 'b']],
])('%j in %d columns', (text, width, lines) => {
  expect(wrapText(text, width)).toEqual(lines)
})

test('the last column of a table goes on below itself', () => {
  const rows = [
    ['a', 'one two three four five six seven'],
    ['bcd', 'eight'],
  ]
  expect(alignColumns(rows, 26)).toBe('a    one two three four\n     five six seven\nbcd  eight')
})
