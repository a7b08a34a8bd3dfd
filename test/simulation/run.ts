/**
 * `npm run simulate -- --seed 7 --runs 1000`: runs of the seeds from 7 on. `--seed N` alone prints every message of one run.
 * `--processes`, `--clients`, `--directory` (members, database) and `--climate` (calm, rolling, crashes, freezes, network, storm) narrow it.
 */
import { parseArgs } from 'node:util'
import { CLIMATES, DIRECTORIES } from './plan.ts'
import { simulate } from './simulate.ts'

const { values } = parseArgs({
  options: {
    seed: { type: 'string', default: '1' },
    runs: { type: 'string', default: '1' },
    processes: { type: 'string', default: '3' },
    directory: { type: 'string' },
    climate: { type: 'string' },
    clients: { type: 'string' },
  },
})
const first = Number(values.seed)
const runs = Number(values.runs)
let failed = 0
for (let seed = first; seed < first + runs; seed++) {
  const { violations, messages, climate, directory, outcomes, sent } = await simulate({
    seed,
    processes: Number(values.processes),
    directory: DIRECTORIES.find((name) => name === values.directory),
    climate: CLIMATES.find((name) => name === values.climate),
    isTraced: runs === 1,
    isCounted: runs === 1,
    ...(values.clients !== undefined && { clients: Number(values.clients) }),
  })
  for (const message of messages) console.log(message)
  for (const violation of violations) console.log(`seed ${seed} (${climate}, ${directory}): ${violation}`)
  if (violations.length > 0) failed++
  if (runs === 1) console.log(`${outcomes.length} calls, ${(sent / outcomes.length).toFixed(1)} messages each`)
}
const { user, system } = process.cpuUsage()
const seconds = (user + system) / 1e6
console.log(`${runs} runs, ${failed} with violations, ${(runs / seconds).toFixed(0)} runs a second of a core`)
process.exit(failed === 0 ? 0 : 1)
