/**
 * `npm run matrix`: every behaviour in every cell through two gateways behind a plain balancer, and 2,000 kills, in at most
 * 14 minutes. Prints what became of them, and writes docs/matrix.md. `-- --kills 50 --client v1 --server stdio` does less,
 * and writes nothing. `-- --command mcp-proxy --arg … --arg FILE --arg PORT` runs another gateway.
 */
import { writeFileSync } from 'node:fs'
import { parseArgs } from 'node:util'
import { ALL_CELLS, runMatrix } from './matrix.ts'

const { values } = parseArgs({
  options: {
    behaviour: { type: 'string', multiple: true },
    client: { type: 'string', multiple: true },
    server: { type: 'string', multiple: true },
    kills: { type: 'string', default: '2000' },
    minutes: { type: 'string', default: '14' },
    fleets: { type: 'string', default: '3' },
    command: { type: 'string' },
    arg: { type: 'string', multiple: true, default: [] },
  },
})
const { behaviour: behaviours, client: clients, server: servers, command } = values
const cells = ALL_CELLS.filter(
  ({ client, server, behaviour }) =>
    (clients?.includes(client) ?? true) &&
    (servers?.includes(server) ?? true) &&
    (behaviours?.includes(behaviour) ?? true),
)
const report = await runMatrix({
  cells,
  kills: Number(values.kills),
  minutes: Number(values.minutes),
  fleets: Number(values.fleets),
  ...(command !== undefined && { command: { command, args: values.arg } }),
  onProgress: (line) => console.log(line),
})
console.log(report.text())
console.log(`Kills: ${report.kills}. Processes left behind: ${report.orphans}.`)
if (cells.length === ALL_CELLS.length && command === undefined) writeFileSync('docs/matrix.md', report.markdown())
process.exitCode = report.violations.length + report.orphans === 0 ? 0 : 1
