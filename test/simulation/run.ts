/**
 * `npm run simulate -- --seed 7 --runs 1000`: runs of the seeds from 7 on. `--seed N` alone prints every message of one run.
 * `--processes`, `--clients`, `--cancels` (how likely a client cancels a call), `--directory` (members, database) and `--climate` (calm,
 * rolling, crashes, freezes, network, storm) narrow it. `--climate all` runs each seed in every climate.
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
    cancels: { type: 'string' },
  },
})
const first = Number(values.seed)
const seeds = Array.from({ length: Number(values.runs) }, (_, turn) => first + turn)
const climates = values.climate === 'all' ? CLIMATES : [CLIMATES.find((name) => name === values.climate)]
const plans = seeds.flatMap((seed) => climates.map((climate) => ({ seed, climate })))
const runs = plans.length
let failed = 0
for (const { seed, climate: fixed } of plans) {
  const { violations, messages, climate, directory, outcomes, sent } = await simulate({
    seed,
    processes: Number(values.processes),
    directory: DIRECTORIES.find((name) => name === values.directory),
    climate: fixed,
    isTraced: runs === 1,
    isCounted: runs === 1,
    ...(values.clients !== undefined && { clients: Number(values.clients) }),
    ...(values.cancels !== undefined && { cancels: Number(values.cancels) }),
  })
  for (const message of messages) console.log(message)
  for (const violation of violations) console.log(`seed ${seed} (${climate}, ${directory}): ${violation}`)
  if (violations.length > 0) failed++
  if (runs === 1) console.log(`${outcomes.length} calls, ${(sent / outcomes.length).toFixed(1)} messages each`)
}
const { user, system } = process.cpuUsage()
const seconds = (user + system) / 1e6
console.log(`${runs} runs, ${failed} with violations, ${(runs / seconds).toFixed(0)} runs a second of a core`)
process.exitCode = failed === 0 ? 0 : 1
