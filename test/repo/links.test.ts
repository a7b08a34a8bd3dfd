import { expect, test } from 'vitest'
import { linkProblems } from '../../scripts/docs/links.ts'

const files: Record<string, string> = {
  'docs/guide.md': '# A guide\n\n## Ask, and wait\n',
  'src/state/seal/seal.ts': '',
  'README.md': '',
  src: '',
}
const repository = {
  exists: (path: string): boolean => path in files,
  read: (path: string): string | undefined => files[path],
  scripts: ['test', 'demo'],
}
const check = (page: string): string[] => linkProblems(new Map([['README.md', page]]), repository)

test.each([
  'See [the guide](docs/guide.md#ask-and-wait), [the web](https://example.com) and [below](#below).\n\n## Below\n',
  'The file `src/state/seal/seal.ts` and the pattern `docs/*.md`.',
  '```sh\nnpm install && npm run demo\nnpm test -- unit # quick\ncurl http://localhost/docs/none\n```\n',
  'Code marks hide `[a](b.md)`.',
])('pages in order have no findings: %j', (page) => {
  expect(check(page)).toEqual([])
})

test.each([
  ['[x](docs/none.md)', 'docs/none.md is not there'],
  ['[x](docs/guide.md#other)', 'has no such heading'],
  ['[x](#other)', 'has no such heading'],
  ['see `src/state/open.ts`', 'is not there'],
  ['```sh\nnpm run none\n```\n', 'package.json has no script none'],
  ['```sh\nnpm isntall\n```\n', 'npm has no such command'],
  ['```sh\nnode examples/none.ts\n```\n', 'examples/none.ts is not there'],
])('the link check finds a fault in %j', (page, message) => {
  expect(check(page).join('\n')).toContain(message)
})
