/** The tutorials, followed from an empty folder: every command and every output. */
import { newKey } from 'pannier/state'
import { expect, test } from 'vitest'
import { readFences } from '../../scripts/docs/fences.ts'
import { listFiles, readText } from '../../scripts/repository.ts'
import { follow } from './fixtures/tutorial.ts'

const FIRST = 'docs/tutorials/a-server-that-asks.md'

test('a server that asks', { timeout: 120_000 }, () => follow(FIRST))

test('many servers behind one address', { timeout: 120_000 }, async () => {
  const server = readFences(readText(FIRST)).find(({ source }) => source?.includes('server.ts'))?.body ?? ''
  await follow('docs/tutorials/many-servers-behind-one-address.md', {
    'server.ts': server,
    '.env': `PANNIER_KEYS=${newKey()}\n`,
  })
})

test('a long job with approval', { timeout: 120_000 }, () => follow('docs/tutorials/a-long-job-with-approval.md'))

test('there are no other tutorials, and their code is in files', () => {
  const pages = listFiles().filter((path) => path.startsWith('docs/tutorials/'))
  expect(pages).toHaveLength(3)
  const sources = pages.flatMap((path) => readFences(readText(path)).map(({ source }) => source?.split('#')[0]))
  expect(new Set(sources.filter((source) => source !== undefined))).toEqual(
    new Set([
      'examples/first-tool/server.ts',
      'examples/first-tool/client.ts',
      'examples/long-job/server.ts',
      'examples/many-servers/notes.ts',
      'examples/many-servers/mcp.json',
      'examples/many-servers/views.json',
    ]),
  )
})
