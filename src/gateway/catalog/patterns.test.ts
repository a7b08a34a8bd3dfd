import { setImmediate } from 'node:timers/promises'
import fc from 'fast-check'
import { expect, test } from 'vitest'
import { filterTools, matches } from './patterns.ts'

test.each<[string, string, boolean]>([
  ['crm_*', 'crm_find', true],
  ['crm_*', 'crm_', true],
  ['crm_*', 'xcrm_find', false],
  ['*', '', true],
  ['find', 'find', true],
  ['find', 'Find', false],
  ['a*a', 'a', false],
  ['a*a', 'aa', true],
  ['*_get_*', 'crm_get_all', true],
  ['*ab*ab', 'ab', false],
  ['*ab*ab', 'abxab', true],
  ['a.c', 'abc', false],
])('the pattern %s and the name "%s": %s', (pattern, name, expected) => {
  expect(matches(pattern, name)).toBe(expected)
})

test('a pattern matches what the same regular expression matches', () => {
  const letters = fc.stringMatching(/^[ab]{0,8}$/)
  fc.assert(
    fc.property(fc.stringMatching(/^[ab*]{1,6}$/), letters, (pattern, name) => {
      return matches(pattern, name) === new RegExp(`^${pattern.replaceAll('*', '.*')}$`).test(name)
    }),
    { numRuns: 2000 },
  )
})

test('many stars do not take long', () => {
  expect(matches('a*'.repeat(2000), 'a'.repeat(1999))).toBe(false)
})

test('others have their turn while the names of a long list are compared', async () => {
  const tools = Array.from({ length: 2000 }, (_, at) => ({ name: `${at}${'\ufdfa'.repeat(1000)}` }))
  const compared = filterTools(tools, { allow: ['*'], deny: ['1999*'] })
  let turns = 0
  while ((await Promise.race([compared, setImmediate('turn')])) === 'turn') turns++
  expect(turns).toBeGreaterThan(3)
  expect((await compared).passing).toHaveLength(1999)
})
