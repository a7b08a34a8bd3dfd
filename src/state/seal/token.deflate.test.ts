import { randomBytes } from 'node:crypto'
import { expect, test } from 'vitest'
import { deflate, inflate } from './token.ts'

test('bytes that hardly shrink are left as they are', () => {
  expect(deflate(randomBytes(2000))).toBeUndefined()
  expect(deflate(Buffer.from('a'.repeat(2000)))?.length).toBeLessThan(50)
})

test('inflating stops at the limit', () => {
  const small = deflate(Buffer.alloc(100_000, 'a'))!
  expect(inflate(small, 100_000)).toHaveLength(100_000)
  expect(() => inflate(small, 99_999)).toThrow(expect.objectContaining({ code: 'STATE_TOO_LARGE' }))
})

test('bytes that were never deflated are malformed', () => {
  expect(() => inflate(Buffer.from('not deflated'), 1000)).toThrow(expect.objectContaining({ code: 'STATE_MALFORMED' }))
})
