/** `docs/reference/documents.md`: every difference from the documents is named there, and every demo. */
import { spawnSync } from 'node:child_process'
import { expect, test } from 'vitest'
import { readText, root } from '../../scripts/repository.ts'
import data from '../../docs/reference/requirements.json' with { type: 'json' }

const page = readText('docs/reference/documents.md')

test('each requirement that is met otherwise is on the page', () => {
  const differing = data.requirements.filter((requirement) => 'differs' in requirement).map(({ id }) => id)
  expect(differing.length).toBeGreaterThan(5)
  expect(differing.filter((id) => !new RegExp(`^\\|.*\\b${id}\\b.* \\|`, 'm').test(page))).toEqual([])
})

test('each demo is on the page', () => {
  const args = ['--conditions=pannier-source', 'examples/demo.ts', 'list']
  const { stdout } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' })
  const names = Array.from(stdout.matchAll(/^npm run demo -- (\w+) +(?:SEP-\d+|detection) /gm), ([, name]) => name)
  expect(names).toContain('weather')
  expect(names.filter((name) => name !== 'all' && !page.includes(`\`${name}\``))).toEqual([])
})
