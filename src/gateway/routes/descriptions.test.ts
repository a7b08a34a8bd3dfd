import { expect, test } from 'vitest'
import { unionInstructions } from './descriptions.ts'

test('each server that says something has one paragraph, in their order', () => {
  const text = unionInstructions([
    { name: 'github', prefix: 'github', instructions: ' Search first.\n\nThen   read. ' },
    { name: 'quiet', prefix: 'quiet', instructions: undefined },
    { name: 'bare', prefix: undefined, instructions: 'Ask.' },
    { name: 'empty', prefix: 'empty', instructions: '  ' },
  ])
  expect(text).toBe('github (github_…): Search first. Then read.\n\nbare: Ask.')
  expect(unionInstructions([{ name: 'a', prefix: 'a', instructions: '' }])).toBeUndefined()
})

test('no server takes the room of the others', () => {
  const long = { prefix: undefined, instructions: 'words '.repeat(10_000) }
  const text = unionInstructions(Array.from({ length: 20 }, (_, at) => ({ ...long, name: `s${at}` })))
  const paragraphs = text?.split('\n\n') ?? []
  expect(paragraphs).toHaveLength(20)
  for (const paragraph of paragraphs) expect(paragraph).toMatch(/^s\d+: (words )+words…$/)
  expect(text?.length).toBeLessThan(8500)
  expect(unionInstructions([{ ...long, name: 'a', instructions: 'x'.repeat(5000) }])?.length).toBe(1503)
})
