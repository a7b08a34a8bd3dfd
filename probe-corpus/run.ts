// `npm run probe:corpus`: probes real servers whose truth is known. `-- name` probes only servers with that in their name;
// `-- --write` writes the results to docs/reference/probe-accuracy.md. Ends with 1 when the combination is not right.
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import '../scripts/compileCache.ts'
import { alignColumns } from '../src/cli/output/layout.ts'
import { installPackages } from './packages.ts'

installPackages()

// The configurations read the manifests of the packages, so they are imported after the installation.
const { CONFIGURATIONS } = await import('./configurations/all.ts')
const { judge } = await import('./judge.ts')
const { limitFaults, limitRows, measureLimits } = await import('./limits.ts')
const { resultsPage, withResults } = await import('./resultsPage.ts')
const { accuracyRows, matrixRows, serverRows } = await import('./tables.ts')

const names = process.argv.slice(2).filter((argument) => !argument.startsWith('--'))
const isWritten = process.argv.includes('--write')
const chosen = CONFIGURATIONS.filter(({ name }) => names.length === 0 || names.some((part) => name.includes(part)))

const judged = []
for (const [index, configuration] of chosen.entries()) {
  console.error(`${index + 1}/${chosen.length} ${configuration.name}`)
  judged.push(await judge(configuration))
}
const limits = await measureLimits(judged.map(({ requests }) => requests))

for (const rows of [serverRows(judged), matrixRows(judged), accuracyRows(judged), limitRows(limits)]) {
  console.log(`${alignColumns(rows)}\n`)
}

if (isWritten) {
  const path = join(import.meta.dirname, '../docs/reference/probe-accuracy.md')
  writeFileSync(path, withResults(readFileSync(path, 'utf8'), resultsPage(judged, limits)))
}

const faults = judged.flatMap((one) => one.faults.map((fault) => `${one.configuration.name}: ${fault}`))
for (const fault of [...faults, ...limitFaults(limits)]) console.log(fault)
const right = judged.filter((one) => one.faults.length === 0).length
console.log(`corpus: ${judged.length} servers, ${right} right, ${judged.length - right} not`)
process.exitCode = right === judged.length && right > 0 && limitFaults(limits).length === 0 ? 0 : 1
