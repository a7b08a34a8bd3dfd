import { expect, test } from 'vitest'
import { eventBytes, totalBytes } from './serverMessage.ts'

const chunk = (text: string): Buffer => Buffer.from(text)

test('after the first thousand, a chunk counts as what it takes in memory', () => {
  const sizeWith = totalBytes()
  for (let at = 1; at <= 1000; at++) expect(sizeWith(chunk('x'))).toBe(at)
  expect(sizeWith(chunk('x'))).toBe(1128)
  expect(sizeWith(chunk('x'.repeat(500)))).toBe(1628)
})

test.each([
  ['in one chunk', ['\n\n']],
  ['in two', ['\n', '\n']],
])('an event begins a count of its own: its end comes %s', (_, ends) => {
  const sizeWith = eventBytes()
  for (let at = 0; at < 2000; at++) sizeWith(chunk('x'))
  for (const end of ends) sizeWith(chunk(end))
  expect(sizeWith(chunk('x'))).toBeLessThan(4)
})
