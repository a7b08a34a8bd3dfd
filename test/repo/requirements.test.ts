import { expect, test } from 'vitest'
import { readCitations } from '../../scripts/docs/citations.ts'
import { requirementProblems, requirementsPage } from '../../scripts/requirements.ts'
import { proves as cite } from '../proves.ts'

const read = (text: string) => readCitations(new Map([['test/a.test.ts', text]]))

test('ids are read as a word, a list of words and an array; a placeholder in a sentence becomes an ellipsis', () => {
  const text = `
    proves('ST-1', 'one', () => {})
    proves('ST-2 ST-3', "two", async () => {})
    for (const c of cases) proves(['ST-4', 'ST-5'], \`case \${c} holds\`, () => {})`
  expect(read(text).map(({ id, sentence }) => `${id} ${sentence}`)).toEqual([
    'ST-1 one',
    'ST-2 two',
    'ST-3 two',
    'ST-4 case … holds',
    'ST-5 case … holds',
  ])
})

test('ids that are not literals are refused, because nobody could read them', () => {
  expect(() => read("proves(id, 'one', () => {})")).toThrow('as literals')
})

test('an unknown id is refused by proves() and by the check', () => {
  expect(() => cite('ST-99', 'nothing', () => {})).toThrow('ST-99')
  expect(() => cite('', 'nothing', () => {})).toThrow('cites no requirement')
  expect(requirementProblems([], read("proves('ST-99', 'x', () => {})"))[0]).toContain(
    'not in docs/reference/requirements.json',
  )
})

test('a requirement of a finished area without a proof is reported', () => {
  const all = [
    { id: 'ST-1', level: 'may', areas: ['server'], text: 'A server may.' },
    { id: 'ST-2', level: 'must', areas: ['client'], text: 'A client must.' },
    { id: 'ST-3', level: 'must', areas: ['server', 'client'], text: 'Both must.' },
  ]
  expect(requirementProblems(all, read("proves('ST-3', 'x', () => {})"), ['server'])).toEqual([
    'no test proves ST-1: A server may.',
  ])
})

test('the page shows the file and the sentence of a proof, and who brings a missing one', () => {
  const page = requirementsPage(read("proves('ST-2', 'a | b', () => {})"))
  expect(page).toContain('| [test/a.test.ts](../../test/a.test.ts): a \\| b |')
  expect(page).toContain('none yet (client)')
})

test('a deliberate difference is no proof: it is counted apart, with its reason and what is done instead', () => {
  const page = requirementsPage(read("proves('ST-7 ST-8', 'all state is sealed', () => {})"))
  expect(page).toMatch(/^Of \d+ requirements 1 are proven by a test\. In 1 Pannier differs on purpose/m)
  expect(page).toMatch(/^\| server \| 1 of \d+ \| ST-7 \| /m)
  expect(page).toMatch(
    /^\| ST-7 .*\*\*differs:\*\* State is always sealed.* Instead:<br>\[test\/a\.test\.ts\].*: all state is sealed \|$/m,
  )
})
