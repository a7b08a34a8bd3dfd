import fc from 'fast-check'
import { expect, test } from 'vitest'
import type { Json } from '../../protocol/index.ts'
import { isLarger } from './limits.ts'

const results = fc.dictionary(fc.string({ unit: 'binary' }), fc.jsonValue({ stringUnit: 'binary' }))

test('a result is larger than a limit exactly if its JSON is', () => {
  fc.assert(
    fc.property(results, fc.nat(2000), (result, limit) => {
      const bytes = Buffer.byteLength(JSON.stringify(result))
      expect(isLarger(result as Json, limit)).toBe(bytes > limit)
      expect(isLarger(result as Json, bytes)).toBe(false)
      expect(isLarger(result as Json, bytes - 1)).toBe(true)
    }),
  )
})

test('a result that is far from its limit is not written', () => {
  const toJSON = (): never => expect.fail('It was written.')
  expect(isLarger({ content: [{ text: 'x'.repeat(1000), toJSON }] }, 100_000)).toBe(false)
  expect(isLarger({ content: 'x'.repeat(1000) }, 100)).toBe(true)
})
