import { expect, test } from 'vitest'
import { assertRoundLimit, assertStateSize } from './limits.ts'

test.each([
  ['of few characters', 'x'.repeat(3), true],
  ['of exactly the limit', 'x'.repeat(10), true],
  ['of exactly the limit in longer characters', 'ü'.repeat(5), true],
  ['of one byte more', 'x'.repeat(11), false],
  ['of as many characters and more bytes', 'ü'.repeat(6), false],
])('a state %s may be kept: %s', (_, state, fits) => {
  const check = (): void => assertStateSize(state, 10)
  if (fits) check()
  else expect(check).toThrow(expect.objectContaining({ code: 'INPUT_TOO_LARGE' }))
})

test('a server may ask in as many rounds as it may, and no more', () => {
  assertRoundLimit(3, 3, 'server')
  expect(() => assertRoundLimit(4, 3, 'task')).toThrow('The task still asks after 3 rounds')
})
