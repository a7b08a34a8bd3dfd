/** A how-to guide is one task: short, with its code first. */
import { expect, test } from 'vitest'
import { listFiles, readText } from '../../scripts/repository.ts'

const MAX_WORDS = 900
const CODE_BY_LINE = 10

const guides = listFiles().filter((path) => /^docs\/how-to\/[^/]+\.md$/.test(path))

/** The words of a page without its code. */
function wordsOf(page: string): number {
  return page.replace(/^```[^]*?^```$/gm, '').match(/\S+/g)?.length ?? 0
}

test('there are how-to guides', () => {
  expect(guides.length).toBeGreaterThan(40)
})

test.each(guides)(`%s has at most ${MAX_WORDS} words`, (path) => {
  expect(wordsOf(readText(path))).toBeLessThanOrEqual(MAX_WORDS)
})

test.each(guides)(`%s shows code within its first ${CODE_BY_LINE} lines`, (path) => {
  const first = readText(path).split('\n').slice(0, CODE_BY_LINE).join('\n')
  expect(first).toMatch(/^```/m)
})
