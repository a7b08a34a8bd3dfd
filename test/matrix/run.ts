/**
 * `npm run matrix`: every behaviour in every cell, and at least 2,000 faults over all forms of a fleet, in at most 15 minutes.
 * Prints what became of them, and writes docs/reference/matrix.md. `-- --count 50 --client v1 --server v1-stdio` does less, and writes
 * nothing; so do `--behaviour progress`, `--fault stop`, `--victim holder` and `--fleet postgres`. `--fleets 5` sets how many
 * fleets work at once, and `--messages` prints what passed in runs with a violation. `-- --slice 2/3` does one of three parts;
 * when the others have been done, their sum is written.
 * `-- --others` runs what others have and ours, `-- --others mcp-hub` one of these (`others/run.ts`).
 */
import { parseArgs } from 'node:util'
import '../../scripts/compileCache.ts'
import bundlePrograms from '../bundle/build.ts'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    others: { type: 'boolean', default: false },
    fleet: { type: 'string', multiple: true },
    behaviour: { type: 'string', multiple: true },
    client: { type: 'string', multiple: true },
    server: { type: 'string', multiple: true },
    fault: { type: 'string', multiple: true },
    victim: { type: 'string', multiple: true },
    fleets: { type: 'string' },
    messages: { type: 'boolean', default: false },
    count: { type: 'string' },
    minutes: { type: 'string' },
    slice: { type: 'string', default: '1/1' },
  },
})
await bundlePrograms()
// What programs need to start quickly is read when these modules are loaded.
if (values.others) {
  const { runOthers } = await import('./others/run.ts')
  const { behaviour, count: kills = '75', minutes = '1' } = values
  await runOthers({ names: positionals, kills: Number(kills), minutes: Number(minutes), behaviours: behaviour })
  process.exit()
}
const { cellsOf } = await import('./cells.ts')
const { FAULT_KINDS, faultsOf, VICTIMS } = await import('./faults.ts')
const { COMMANDS, FORMS } = await import('./fleet/forms.ts')
const { runMatrix } = await import('./matrix.ts')
const { writeResults } = await import('./page.ts')
const { joinParts } = await import('./parts.ts')
const { pageReport, textReport } = await import('./report.ts')
const { addTally, emptyTally } = await import('./tally.ts')

/** How much of the faults and of the time each form gets: as it has cells, and as it is slow. */
const SHARES = { gateways: 8, workers: 3, postgres: 4, servers: 2, 'servers-sqlite': 2, 'servers-postgres': 2 }

const among = (given: readonly string[] | undefined, name: string): boolean => given?.includes(name) ?? true
const { behaviour, client, server, fault, victim, count = '2500', minutes = '13', fleets } = values
const isWhole = [behaviour, client, server, fault, victim, values.fleet].every((given) => given === undefined)
const [part = 1, of = 1] = values.slice.split('/').map(Number)
const forms = FORMS.filter((form) => among(values.fleet ?? (isWhole ? undefined : ['gateways']), form))
const allCells = FORMS.flatMap((form) => cellsOf(form))
assertKnown('fleet', values.fleet, FORMS)
assertKnown('fault', fault, FAULT_KINDS)
assertKnown('victim', victim, VICTIMS)
for (const [option, given] of Object.entries({ behaviour, client, server }))
  assertKnown(
    option,
    given,
    allCells.map((cell) => cell[option as keyof typeof cell]),
  )
const until = performance.now() + Number(minutes) * 60_000
const tally = emptyTally()
const messages = { gateways: new Map<string, number>(), servers: new Map<string, number>() }
for (const [index, form] of forms.entries()) {
  const share = SHARES[form] / forms.slice(index).reduce((sum, each) => sum + SHARES[each], 0)
  const cells = cellsOf(form).filter(
    (cell) => among(behaviour, cell.behaviour) && among(client, cell.client) && among(server, cell.server),
  )
  const found = await runMatrix({
    form,
    cells,
    faults: faultsOf(form).filter((each) => among(fault, each.kind) && among(victim, each.victim)),
    count: Math.ceil((Number(count) * SHARES[form]) / forms.reduce((sum, each) => sum + SHARES[each], 0)),
    minutes: ((until - performance.now()) / 60_000) * share,
    messages: messages[COMMANDS[form].isServer ? 'servers' : 'gateways'],
    looksBack: isWhole && form === 'gateways',
    tellsMessages: values.messages,
    cellsPerFleet: fleets === undefined ? (form === 'gateways' ? 35 : 50) : cells.length / Number(fleets),
    slice: { part, of },
    onProgress: (line) => console.log(`${form}: ${line}`),
  })
  addTally(tally, found)
}
/** A misspelt name would select nothing, and a run without faults looks like a run without violations. */
function assertKnown(option: string, given: readonly string[] = [], known: readonly string[]): void {
  const unknown = given.filter((name) => !known.includes(name))
  if (unknown.length === 0) return
  const names = [...new Set(known)].map((name) => JSON.stringify(name)).join(', ')
  console.error(`There is no --${option} ${JSON.stringify(unknown[0])}. There are ${names}.`)
  process.exit(1)
}

console.log(textReport(tally))
const whole = isWhole ? joinParts(tally, { part, of }) : undefined
if (whole !== undefined) writeResults('matrix', pageReport(whole))
// Connections of clients that were cut off may be open still.
process.exit(tally.violations.length + tally.orphans === 0 ? 0 : 1)
