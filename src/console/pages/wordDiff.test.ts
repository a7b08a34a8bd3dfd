import fc from 'fast-check'
import { expect, test } from 'vitest'
import { wordDiff } from './wordDiff.ts'

test('words that are gone and new stand beside those that stay', () => {
  expect(wordDiff('Reads a file.', 'Reads and sends a file.')).toEqual([
    { kind: 'same', text: 'Reads ' },
    { kind: 'new', text: 'and sends ' },
    { kind: 'same', text: 'a file.' },
  ])
})

test('without what is gone it is the text after, and without what is new the text before', () => {
  const text = fc.array(fc.constantFrom('read', 'the', 'file', ' ', '\n', '.', '"', 'ü'), { maxLength: 60 })
  fc.assert(
    fc.property(text, text, (old, now) => {
      const parts = wordDiff(old.join(''), now.join(''))
      const without = (kind: string) => parts.flatMap((part) => (part.kind === kind ? [] : [part.text])).join('')
      expect([without('new'), without('gone')]).toEqual([old.join(''), now.join('')])
    }),
  )
})

test('two long texts without anything in common are not compared word by word', () => {
  const [before, after] = ['a '.repeat(5000), 'b\n'.repeat(5000)]
  expect(wordDiff(before, after).map(({ kind }) => kind)).toEqual(['gone', 'new'])
})
