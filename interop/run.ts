// `npm run interop`: published clients against this server, one after the other. Prints a table for each place and
// writes docs/reference/interop.md. `-- --only mastra` runs only clients with that name part, and writes nothing. Ends
// with 1 when an outcome differs from what is expected (`expected.ts`).
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import '../scripts/compileCache.ts'
import { alignColumns } from '../src/cli/output/layout.ts'
import { CLIENTS, legsOf } from './clients.ts'
import { PLACES } from './driver.ts'
import { EXPECTED } from './expected.ts'
import { type JudgedLeg, judgeLeg, nameOf } from './judge.ts'
import { runLeg } from './legs.ts'
import { clientFolder, installPackages, packageRows } from './packages.ts'
import { resultsPage, withResults } from './page.ts'
import { bundleServer } from './server/bundle.ts'
import { placeRows, TITLES } from './tables.ts'

const CONCURRENT_LEGS = 2

for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(1))

const part = process.argv.includes('--only') ? (process.argv[process.argv.indexOf('--only') + 1] ?? '') : undefined
const chosen = CLIENTS.filter(({ name }) => part === undefined || name.includes(part))
for (const { name } of chosen) installPackages(clientFolder(name))

const folder = mkdtempSync(join(tmpdir(), 'pannier-interop-server-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
const server = await bundleServer(folder)

const legs = chosen.flatMap(legsOf)
const judged: (JudgedLeg | undefined)[] = legs.map(() => undefined)
const queue = [...legs.entries()]
async function work(): Promise<void> {
  for (let next = queue.shift(); next !== undefined; next = queue.shift()) {
    const [index, leg] = next
    const result = judgeLeg(await runLeg(leg, server), EXPECTED)
    judged[index] = result
    console.error(`${nameOf(leg)}: ${result.differences.length === 0 ? 'as expected' : 'not as expected'}`)
  }
}
await Promise.all(Array.from({ length: CONCURRENT_LEGS }, work))
const results = judged.filter((one) => one !== undefined)

for (const place of PLACES) console.log(`\n${TITLES[place]}\n\n${alignColumns(placeRows(place, results))}`)

if (part === undefined) {
  const path = join(import.meta.dirname, '../docs/reference/interop.md')
  const versions = chosen.flatMap(({ name }) => packageRows(name))
  writeFileSync(path, withResults(readFileSync(path, 'utf8'), resultsPage(results, versions)))
}

const differences = results.flatMap((one) => one.differences)
if (differences.length > 0) console.log(`\n${differences.join('\n')}`)
const cells = results.flatMap((one) => one.cells)
const works = cells.filter(({ kind }) => kind === 'yes').length
console.log(`\ninterop: ${cells.length} checks, ${works} work, ${differences.length} not as expected`)
process.exitCode = cells.length > 0 && differences.length === 0 ? 0 : 1
