/** What the matrix found, as text and as docs/reference/matrix.md. */
import { BEHAVIOURS } from './behaviours.ts'
import { ALL_CELLS, type Cell, clientsOf, nameOf, whyNot } from './cells.ts'
import type { ClientKind } from './clients/kinds.ts'
import type { Form } from './fleet/forms.ts'
import { WAYS } from './fleet/passing.ts'
import { KINDS, SERVERS, type ServerName } from './fleet/servers.ts'
import { FAULTS } from './faults.ts'
import { countOf, type FaultCount, type Tally } from './tally.ts'

const VICTIM_NAMES = {
  holder: 'the gateway that the call came to',
  other: 'the other gateway',
  server: 'the server',
  client: 'the client',
  inbound: 'the connection of the sender',
  outbound: 'the connection to the receiver',
} as const

const FORM_NAMES: Readonly<Record<Form, string>> = {
  gateways: 'gateways that share nothing',
  workers: 'gateways of two workers each',
  postgres: 'gateways with PostgreSQL',
  servers: 'instances of our server, no gateway',
  'servers-sqlite': 'instances of our server, SQLite',
  'servers-postgres': 'instances of our server, PostgreSQL',
}

const KIND_NAMES = { kill: 'killed', stop: 'stopped', cut: 'cut', hold: 'held', twice: 'used twice' } as const

const CLIENT_NAMES: Readonly<Record<ClientKind, string>> = {
  v1: 'SDK v1',
  'v2 in a session': 'SDK v2, session',
  'v2 stateless': 'SDK v2, stateless',
  'ours in a session': 'ours, session',
  'ours stateless': 'ours, stateless',
}

export function textReport(tally: Tally): string {
  const { violations, orphans, seconds } = tally
  return [
    ...faultTable(tally),
    '',
    ...wayTable(tally),
    '',
    ...fleetTable(tally),
    '',
    'What callers were told:',
    ...Object.entries(tally.told)
      .toSorted(([, a], [, b]) => b - a)
      .map(([sentence, times]) => `${times} × ${sentence}`),
    '',
    `Faults: ${countOf(tally).faults} in ${seconds} s. Violations: ${violations.length}. Processes left behind: ${orphans}.`,
  ].join('\n')
}

/** The part of the page that a run writes, between the marks. */
export function pageReport(tally: Tally): string {
  const { faults } = countOf(tally)
  const cells = Object.keys(tally.cells).length
  const reasons = [...new Set(ALL_CELLS.flatMap((cell) => whyNot(cell) ?? []))]
  return `## Cells

${SERVERS.map((server) => `### Server: ${KINDS[server].title}, ${eraOf(server)}\n\n${cellTable(tally, server).join('\n')}\n`).join('\n')}
"–" stands where a client or a server cannot do it by itself:

${reasons.map((reason) => `- ${reason}`).join('\n')}

## Faults

${faults} faults, after ${cells} cells that were left alone, in ${Math.floor(tally.seconds / 60)} minutes and ${tally.seconds % 60} seconds.

${faultTable(tally).join('\n')}

Where the message was at which it happened:

${wayTable(tally).join('\n')}

In which fleet:

${fleetTable(tally).join('\n')}

Violations: ${tally.violations.length}. Processes left behind: ${tally.orphans}.
${tally.violations.map((violation) => `\n- ${violation}`).join('')}

## What is left

${remainsText(tally)}
`
}

function eraOf(server: ServerName): string {
  return KINDS[server].state === 'stateless' ? 'stateless era' : 'session era'
}

function cellTable(tally: Tally, server: ServerName): string[] {
  const clients = clientsOf(server)
  const rows = Object.keys(BEHAVIOURS).map((behaviour) => {
    const marks = clients.map((client) => markOf(tally, { client, server, behaviour }))
    return `| ${behaviour} | ${marks.join(' | ')} |`
  })
  const head = clients.map((client) => CLIENT_NAMES[client])
  return [`| behaviour | ${head.join(' | ')} |`, `|---|${clients.map(() => '---|').join('')}`, ...rows]
}

function markOf({ cells }: Tally, cell: Cell): string {
  if (whyNot(cell) !== undefined) return '–'
  const violations = cells[nameOf(cell)]
  if (violations === undefined) return 'not run'
  return violations.length === 0 ? 'works' : 'fails'
}

function faultTable(tally: Tally): string[] {
  const rows = FAULTS.map((each) => {
    const count = countOf(tally, (fault) => fault === each)
    return [`${VICTIM_NAMES[each.victim]}, ${KIND_NAMES[each.kind]}`, count] as const
  })
  return table('fault', rows)
}

function wayTable(tally: Tally): string[] {
  return table(
    'between',
    WAYS.map((way) => [way, countOf(tally, undefined, [way])]),
  )
}

function fleetTable({ fleets }: Tally): string[] {
  return table(
    'fleet',
    Object.entries(fleets).map(([form, count]) => [FORM_NAMES[form as Form], count]),
  )
}

function table(head: string, rows: readonly (readonly [string, FaultCount])[]): string[] {
  return [
    `| ${head} | times | calls with their result | calls with an error | violations |`,
    '|---|---|---|---|---|',
    ...rows.map(
      ([name, { faults, right, told, violations }]) => `| ${name} | ${faults} | ${right} | ${told} | ${violations} |`,
    ),
  ]
}

function remainsText({ remains, violations }: Tally): string {
  if (remains.length === 0) return 'Not looked at in this run.'
  const isClear = !violations.some((violation) => violation.includes('after a minute'))
  return [
    'In the last part of a run gateways are not ended, while servers and clients are. Within a minute after it they',
    `${isClear ? 'had' : 'must have'} no parked call, no request under way, and no more links, timers and sockets than a gateway that has just begun. What`,
    'they need of memory, after garbage was collected, the largest of them:',
    '',
    '| gateways before | how many | faults meanwhile | before | after |',
    '|---|---|---|---|---|',
    ...SERVERS.flatMap((server) => remainsRow(remains.filter((each) => each.server === server)) ?? []),
  ].join('\n')
}

function remainsRow(ofServer: Tally['remains']): string | undefined {
  const [first] = ofServer
  if (first === undefined) return undefined
  const faults = ofServer.reduce((sum, each) => sum + each.faults, 0)
  const before = Math.max(...ofServer.map(({ heapMbBefore }) => heapMbBefore))
  const after = Math.max(...ofServer.map(({ heapMb }) => heapMb))
  return `| ${KINDS[first.server as ServerName].title} | ${ofServer.length} | ${faults} | ${before} MB | ${after} MB |`
}
