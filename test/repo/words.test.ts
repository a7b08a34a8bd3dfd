import { expect, test } from 'vitest'
import { listFiles, readTexts } from '../../scripts/repository.ts'
import { riddles, wordProblems } from './words.ts'

const own = ['test/repo/words.ts', 'test/repo/words.test.ts']
/** Holds what servers of others say of their tools, word for word. */
const quoted = 'probe-corpus/recordings.json'
const binary = /\.(png|jpe?g|gif|ico|woff2?|wasm|sqlite|gz)$/

test('no file names a machine, a registry or how it was made', () => {
  const texts = readTexts(listFiles().filter((path) => ![...own, quoted].includes(path) && !binary.test(path)))
  expect(wordProblems(texts)).toEqual([])
})

test('no documentation and no comment in src has a word of a riddle', () => {
  const read = listFiles().filter((path) => /^(docs\/.*\.md|[A-Z]+\.md|src\/.*(?<!\.test)\.ts)$/.test(path))
  expect(riddles(readTexts(read.filter((path) => !path.startsWith('docs/reference/requirements.'))))).toEqual([])
})

test('the check of riddles finds them in comments and in documentation', () => {
  const texts = [
    ['a.ts', "// The call goes on.\nconst anew = 'goes on'\n * Whoever asks."],
    ['a.md', 'It starts anew.'],
  ] as const
  expect(riddles(new Map(texts)).map((problem) => problem.split(': ')[0])).toEqual(['a.ts:1', 'a.ts:3', 'a.md:1'])
})

test.each([
  'see /work/main/README.md',
  "cwd: '/work'",
  'HOME=/root npm test',
  'git -C /tmp/ref/sdk log',
  'as shared/DESIGN.md says',
  'from 003_f57028319ed49686.txt',
  '"resolved": "https://registry.npmjs.org/zod/-/zod-4.0.0.tgz"',
  'fetch from https://my-registry.example.com/zod',
  'finished in the second sitting',
  'a helper agent wrote this',
  'Co-Authored-By: somebody',
])('the word check finds: %s', (line) => {
  expect(wordProblems(new Map([['a.md', line]]))).toHaveLength(1)
})

test.each([
  'examples/work-items/server.ts',
  "path: '/work-items'",
  'the root folder; ./work/in/progress',
  'registry.find(message)',
  'resources at file:///project/root',
])('the word check allows: %s', (line) => {
  expect(wordProblems(new Map([['a.md', line]]))).toEqual([])
})
