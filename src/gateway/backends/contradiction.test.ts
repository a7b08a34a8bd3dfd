import { expect, test } from 'vitest'
import { contradict, type SaidOnLink } from './contradiction.ts'

const about = { version: '2025-06-18', info: { name: 'a', version: '1' }, capabilities: {}, instructions: undefined }
const said: SaidOnLink = { era: 'legacy', hasSession: false, about }
const withInfo = (info: object): SaidOnLink => ({ ...said, about: { ...about, info: { ...about.info, ...info } } })

test.each<[string, SaidOnLink, boolean]>([
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
