import { expect, test, vi } from 'vitest'
import { remembered, rememberedTexts, setNewest } from './remembered.ts'

test('a value is computed once for each object', () => {
  const compute = vi.fn((key: { readonly size: number }) => [key.size])
  const sizesOf = remembered(compute)
  const [one, other] = [{ size: 1 }, { size: 1 }]
  expect(sizesOf(one)).toBe(sizesOf(one))
  expect(sizesOf(other)).not.toBe(sizesOf(one))
  expect(compute).toHaveBeenCalledTimes(2)
})

test('of texts only the first are remembered', () => {
  const compute = vi.fn((text: string) => text.length)
  const lengthOf = rememberedTexts(compute, 1)
  expect(['a', 'a', 'bb', 'bb', 'a'].map(lengthOf)).toEqual([1, 1, 2, 2, 1])
  expect(compute.mock.calls.flat()).toEqual(['a', 'bb', 'bb'])
})

test('a map drops its oldest entries, and an entry that is set again is the newest', () => {
  const map = new Map<string, number>()
  for (const [number, name] of ['a', 'b', 'a', 'c'].entries()) setNewest(map, name, number, 2)
  expect([...map]).toEqual([
    ['a', 2],
    ['c', 3],
  ])
})
