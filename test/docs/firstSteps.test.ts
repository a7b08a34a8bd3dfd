/** What a newcomer types first in a fresh clone, and the line they are answered with when it cannot work yet. */
import { spawnSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test } from 'vitest'
import { readText, root } from '../../scripts/repository.ts'

function run(args: readonly string[]) {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd: root, encoding: 'utf8' })
  return { status, stdout, stderr }
}

test('the program pannier says in one line that it is not built yet', () => {
  const clone = mkdtempSync(join(tmpdir(), 'pannier-clone-'))
  onTestFinished(() => rmSync(clone, { recursive: true, force: true }))
  for (const path of ['bin', 'package.json']) cpSync(join(root, path), join(clone, path), { recursive: true })
  expect(run([join(clone, 'bin/pannier.js'), 'keys', 'new'])).toEqual({
    status: 1,
    stdout: '',
    stderr: 'Pannier is not built here yet. Run this first: npm run build\n',
  })
})

const demo = ['--conditions=pannier-source', 'examples/demo.ts']
const usage = expect.stringMatching(
  /^Usage: npm run demo \[-- NAME\]\. Names: rounds, weather, .*\n.*--ask .*\n.*--stay .*\n$/,
)

test.each([['--help'], ['-h'], ['--ask', '--help']])('the demo answers %s with its usage', (...flags) => {
  expect(run([...demo, ...flags])).toEqual({ status: 0, stdout: usage, stderr: '' })
})

test('the demo names a flag it does not know', () => {
  const stderr = expect.stringMatching(/^The demo does not know --aks\. Usage: /)
  expect(run([...demo, '--aks'])).toEqual({ status: 2, stdout: '', stderr })
})

test('the demo says why its first question carries no state, and that it answers itself where nobody can type', () => {
  const { stdout } = run([...demo, '--ask'])
  expect(stdout).toContain('requestState    none: this question is not pinned (pin: false)')
  expect(stdout).toContain('The demo answers itself.')
})

test.each(['package.json', 'create-pannier/package.json'])(
  'the guide to a new project names the packed file of %s',
  (path) => {
    const { name, version } = JSON.parse(readText(path)) as { name: string; version: string }
    expect(readText('docs/how-to/start-a-project.md')).toContain(`/${name}-${version}.tgz`)
  },
)
