// `npm run probe:files [-- PACKAGE…]`: downloads recorded packages without installing or running them, and adds to recordings.json what the
// probe finds in their files.
import { spawnSync } from 'node:child_process'
import { existsSync, mkdirSync, readdirSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { isDeepStrictEqual } from 'node:util'
import { isTelling, programSignals } from '../../src/probe/methods/program/signals.ts'
import { locateProgram } from '../../src/probe/program/locate.ts'
import { readProgram } from '../../src/probe/program/read.ts'
import { readRecordings, type Recording, saveRecordings } from '../recordings.ts'

const names = process.argv.slice(2)
const recordings = readRecordings()
const read: Recording[] = []
for (const recording of recordings) {
  read.push(names.length === 0 || names.includes(recording.name) ? await withFiles(recording) : recording)
}
saveRecordings(read)
console.log(`${read.filter(({ files }) => files !== undefined).length} of ${read.length} can be read`)

async function withFiles(recording: Recording): Promise<Recording> {
  const { tools, capabilities, instructions, files: before, ...rest } = recording
  const located = await locateProgram({ command: 'node', args: [join(downloaded(recording), recording.program)] })
  const facts = located && (await readProgram(located))
  const found = facts !== undefined && isTelling(facts) ? programSignals(facts) : undefined
  const files = found && Object.fromEntries(found.map(({ name, strength }) => [name, strength]))
  if (!isDeepStrictEqual(before, files)) console.log(`${recording.name}: ${JSON.stringify(files)}`)
  const listed = { capabilities, ...(instructions !== undefined && { instructions }), tools }
  return { ...rest, ...(files !== undefined && { files }), ...listed }
}

/** The folder of the package, from its tarball: no script of it is run. */
function downloaded({ name, version }: Pick<Recording, 'name' | 'version'>): string {
  const root = join(tmpdir(), 'pannier-files', `${name.replace('/', '+')}@${version}`)
  const folder = join(root, 'package')
  if (existsSync(folder)) return folder
  mkdirSync(root, { recursive: true })
  const run = (command: string, args: readonly string[]): void =>
    void spawnSync(command, args, { cwd: root, stdio: ['ignore', 'ignore', 'inherit'] })
  run('npm', ['pack', '--ignore-scripts', '--loglevel=error', `${name}@${version}`])
  const tarball = readdirSync(root).find((file) => file.endsWith('.tgz'))
  if (tarball !== undefined) run('tar', ['-xzf', tarball])
  return folder
}
