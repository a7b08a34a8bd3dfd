/**
 * `npm run matrix`: every behaviour in every cell through two gateways behind a plain balancer, and at least 2,000 kills, in at most
 * 15 minutes. Prints what became of them, and writes docs/matrix.md. `-- --kills 50 --client v1 --server v1-stdio` does less,
 * and writes nothing; so do `--behaviour progress` and `--victim holder`. `--fleets 5` sets how many fleets work at once, and
 * `--messages` prints what passed in runs with a violation. `-- --slice 2/3` does one of three parts; when the others have
 * been done, their sum is written.
 * `-- --fleet workers` runs gateways of two workers each, `-- --fleet postgres` with PostgreSQL; neither writes anything.
 * `-- --others` runs what others have and ours, `-- --others mcp-hub` one of these (`others/run.ts`).
 */
import { parseArgs } from 'node:util'
import '../../scripts/compileCache.ts'
import bundlePrograms from '../bundle/build.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    others: { type: 'boolean', default: false },
    fleet: { type: 'string' },
    behaviour: { type: 'string', multiple: true },
    client: { type: 'string', multiple: true },
    server: { type: 'string', multiple: true },
    victim: { type: 'string', multiple: true },
    fleets: { type: 'string' },
    messages: { type: 'boolean', default: false },
    kills: { type: 'string' },
    minutes: { type: 'string' },
    slice: { type: 'string', default: '1/1' },
  },
})
await bundlePrograms()
// What programs need to start quickly is read when these modules are loaded.
if (values.others) {
  const { runOthers } = await import('./others/run.ts')
  const { behaviour, kills = '75', minutes = '1' } = values
  await runOthers({ names: positionals, kills: Number(kills), minutes: Number(minutes), behaviours: behaviour })
  process.exit()
}
const { POSSIBLE_CELLS } = await import('./cells.ts')
const { runMatrix } = await import('./matrix.ts')
const { writeResults } = await import('./page.ts')
const { joinParts } = await import('./parts.ts')
const { pageReport, textReport } = await import('./report.ts')
const { VICTIMS } = await import('./scenario.ts')
const { commandOf, VARIANTS } = await import('./fleet/variants.ts')

const { behaviour: behaviours, client: clients, server: servers, victim: victims } = values
const [part = 1, of = 1] = values.slice.split('/').map(Number)
const cells = POSSIBLE_CELLS.filter(
  ({ client, server, behaviour }) =>
    (clients?.includes(client) ?? true) &&
    (servers?.includes(server) ?? true) &&
    (behaviours?.includes(behaviour) ?? true),
)
const variant = VARIANTS.find((name) => name === values.fleet)
const tally = await runMatrix({
  ...(variant && { command: await commandOf(variant), looksBack: false, cellsPerFleet: 100 }),
  ...(values.fleets !== undefined && { cellsPerFleet: cells.length / Number(values.fleets) }),
  cells,
  victims: VICTIMS.filter((victim) => victims?.includes(victim) ?? true),
  tellsMessages: values.messages,
  kills: Number(values.kills ?? 2500),
  minutes: Number(values.minutes ?? 12),
  slice: { part, of },
  onProgress: (line) => console.log(line),
})
console.log(textReport(tally))
const isWhole = cells.length === POSSIBLE_CELLS.length && variant === undefined && victims === undefined
const whole = isWhole ? joinParts(tally, { part, of }) : undefined
if (whole !== undefined) writeResults('matrix', pageReport(whole))
// Connections of clients that were cut off may be open still.
process.exit(tally.violations.length + tally.orphans === 0 ? 0 : 1)
