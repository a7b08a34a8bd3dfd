import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import { expect, test } from 'vitest'
import { root } from '../../scripts/repository.ts'

/** Runs bin/pannier.js in a Node that says it is another version. */
function launch(version: string) {
  const pretend = `Object.defineProperty(process, 'versions', { value: { ...process.versions, node: '${version}' } })`
  const args = [
    '--import',
    `data:text/javascript,${encodeURIComponent(pretend)}`,
    join(root, 'bin/pannier.js'),
    '--version',
  ]
  return spawnSync(process.execPath, args, { encoding: 'utf8' })
}

test.each(['20.20.2', '22.17.1', '18.0.0'])('on Node %s the program says in one line what it needs', (version) => {
  const { status, stderr } = launch(version)
  expect(stderr).toBe(`Pannier needs Node 22.18 or newer; this is ${version}.\n`)
  expect(status).toBe(1)
})

test.each(['22.18.0', '24.0.0', '23.1.0'])('on Node %s the program does not complain', (version) => {
  expect(launch(version).stderr).not.toContain('Pannier needs')
})
