import { expect, test } from 'vitest'
import { listFiles, readIfThere, readTexts } from '../../scripts/repository.ts'
import { codeProblems, codesInSource } from './errorCodes.ts'

const sources = readTexts(listFiles().filter((path) => /^src\/(.+\/)?errors\.ts$/.test(path)))

test('docs/reference/errors.md lists exactly the error codes of the source', () => {
  const page = readIfThere('docs/reference/errors.md') ?? ''
  expect(codeProblems(codesInSource(sources), page)).toEqual([])
})

test('the code check finds a code missing on either side, and one listed twice', () => {
  const codes = codesInSource(
    new Map([['src/state/errors.ts', "export const STATE_CODES = ['A_ONE', 'A_TWO'] as const"]]),
  )
  const page = '| code | meaning |\n|---|---|\n| `A_TWO` | x |\n| `A_TWO` | x |\n| `A_THREE` | x |\n'
  expect(codeProblems(codes, page)).toEqual([
    'add to docs/reference/errors.md, from src/state/errors.ts: | `A_ONE` | what it means | what to do |',
    'remove from docs/reference/errors.md: A_THREE is not in the source',
    'docs/reference/errors.md lists A_TWO twice',
  ])
})

test.each([
  ['export const STATE_CODES = codes', 'must be [...] as const'],
  ['export const STATE_CODES = [A] as const', 'must be a string literal'],
])('the code check refuses a list it cannot read: %s', (text, message) => {
  expect(() => codesInSource(new Map([['src/state/errors.ts', text]]))).toThrow(message)
})
