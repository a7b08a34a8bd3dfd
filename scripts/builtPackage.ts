// Loads the built package as a user would, by its name, and compares what it exports with test/repo/exports.json. Its pages
// link to packed files only.
import { spawnSync } from 'node:child_process'
import { existsSync } from 'node:fs'
import { join, posix } from 'node:path'
import manifest from '../package.json' with { type: 'json' }
import listed from '../test/repo/exports.json' with { type: 'json' }
import { readText, root } from './repository.ts'

const problems: string[] = []

for (const [subpath, { values }] of Object.entries<{ values: string[] }>(listed)) {
  const names = Object.keys((await import(subpath)) as object).toSorted()
  if (names.join() !== values.join())
    problems.push(`${subpath} exports ${names.join(', ')}; listed are ${values.join(', ')}`)
}

const types = Object.values(manifest.exports).flatMap((target) => (typeof target === 'string' ? [] : [target.types]))
const options = [
  '--noEmit',
  '--strict',
  '--module',
  'nodenext',
  '--target',
  'es2024',
  '--types',
  'node',
  '--ignoreConfig',
]
const built = types.filter((path) => existsSync(join(root, path)))
if (built.length === 0) problems.push('there is no built package; run npm run build')
else expectSuccess(['tsc', ...options, ...built])
if (existsSync(join(root, 'dist/cli/main.js'))) expectSuccess(['node', 'bin/pannier.js', '--version'])

const [{ files: entries } = { files: [] }] = JSON.parse(
  expectSuccess(['npm', 'pack', '--dry-run', '--json', '--ignore-scripts']),
) as { files: { path: string }[] }[]
const packed = new Set(entries.map(({ path }) => path))
for (const page of packed) {
  if (!page.endsWith('.md')) continue
  for (const [, target = ''] of readText(page).matchAll(/\]\((?!https?:|#)([^)#\s]+)/g)) {
    const path = posix.join(posix.dirname(page), target)
    if (!packed.has(path)) problems.push(`${page} links to ${path}, which is not in the package`)
  }
}

function expectSuccess([program = '', ...args]: readonly string[]): string {
  const { status, stdout, stderr } = spawnSync(program, args, { cwd: root, encoding: 'utf8' })
  if (status !== 0) problems.push(`${program} ${args.join(' ')} failed:\n${stdout}${stderr}`)
  return stdout
}

for (const problem of problems) console.error(problem)
process.exitCode = problems.length === 0 ? 0 : 1
