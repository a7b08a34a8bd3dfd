import { expect, test } from 'vitest'
import { contradict, pauseAfter, pauseAfterDoubts, type LinkFacts } from './prober.ts'

test.each([
  ['that was judged', 0, 3_600_000],
  ['that could not be judged once', 1, 30_000],
  ['that could not be judged twice', 2, 60_000],
  ['that can never be judged', 100, 3_600_000],
])('a server %s is probed again after a while', (_, failures, ms) => {
  expect(pauseAfter(failures)).toBe(ms)
})

test.each([
  ['changed the verdict', 0, 1000],
  ['changed nothing', 1, 2000],
  ['changed nothing for the tenth time', 10, 1_024_000],
  ['never change anything', 100, 3_600_000],
])('after doubts that %s a server is probed again', (_, needless, ms) => {
  expect(pauseAfterDoubts(needless)).toBe(ms)
})

const about = { version: '2025-06-18', info: { name: 'a', version: '1' }, capabilities: {}, instructions: undefined }
const said: LinkFacts = { era: 'legacy', hasSession: false, about }
const withInfo = (info: object): LinkFacts => ({ ...said, about: { ...about, info: { ...about.info, ...info } } })

test.each<[string, LinkFacts, boolean]>([
  ['the same', { ...said, about: structuredClone(about) }, false],
  ['other instructions', { ...said, about: { ...about, instructions: 'Be quick.' } }, false],
  ['other tools', { ...said, about: { ...about, capabilities: { tools: {} } } }, false],
  ['another era', { ...said, era: 'modern' }, true],
  ['a session', { ...said, hasSession: true }, true],
  ['another version', withInfo({ version: '2' }), true],
  ['another name', withInfo({ name: 'b' }), true],
  ['another architecture', withInfo({ architecture: 'stateless' }), true],
  ['other sessions', { ...said, about: { ...about, capabilities: { session: { persistent: true } } } }, true],
  ['nothing', { ...said, about: { ...about, info: undefined } }, true],
])('a server that says %s on another link', (_, other, isOne) => {
  expect(contradict(said, other)).toBe(isOne)
})
