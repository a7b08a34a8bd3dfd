/** Verdicts of the probe as text for a terminal, and as Markdown. */
import { plainLine, plainText } from '../../client/index.ts'
import { type Exchanged, type ProbeFinding, type MethodResult, METHODS, type Verdict } from '../../probe/index.ts'
import { cellsText } from '../../probe/internal.ts'
import type { Failure } from '../exit.ts'
import { alignColumns, wrapText } from './layout.ts'

/** The full report on one server. The first word is the verdict, so that scripts can read it. */
export function probeText(verdict: Verdict, width = Infinity, isExplained = false): string {
  const { state, target, message, evidence, notAsked } = verdict
  const clients = isExplained ? (verdict.cells ?? []).map(({ sentence }) => ['', sentence]) : []
  const kept = verdict.process.because.map((sentence) => ['  process', '', sentence])
  const checks = evidence.map(({ check, points, sentence }) => [
    `  ${check}`,
    points === 'UNKNOWN' ? '' : points,
    sentence,
  ])
  return [
    `${state}  ${plainLine(target)}`,
    ...wrapText(message, width),
    '',
    alignColumns(factRows(verdict), width),
    '',
    'Methods:',
    alignColumns(methodRows(verdict)),
    ...(checks.length + kept.length === 0 ? [] : ['', 'Evidence:', alignColumns([...checks, ...kept], width)]),
    ...(clients.length === 0 ? [] : ['', 'Through a gateway:', alignColumns(clients, width)]),
    ...(notAsked.length === 0 ? [] : ['', ...wrapText(notAskedText(notAsked), width)]),
  ].join('\n')
}

function notAskedText(checks: Verdict['notAsked']): string {
  return `Not asked, to send few requests and be quick: ${checks.join(', ')} (see --check).`
}

/** A line for each server; if that is too wide, the reason follows on its own line. */
export function probeTable(all: readonly Probed[], width = Infinity): string {
  const table = lineForEach(all)
  return table.split('\n').every((line) => Array.from(line).length <= width) ? table : reasonsBelow(all, width)
}

function lineForEach(all: readonly Probed[]): string {
  const columns = Object.keys(COLUMNS) as ProbeColumn[]
  const rows = all.map((one) => [plainLine(one.name, 40), ...cellsOf(one, columns), plainLine(reasonOf(one), 200)])
  return alignColumns([headOf(['server', ...columns, 'why']), ...rows])
}

function reasonsBelow(all: readonly Probed[], width: number): string {
  const columns = ['verdict', 'sure', 'era'] as const
  const rows = all.map((one) => [plainLine(one.name, 40), ...cellsOf(one, columns)])
  const [heading = '', ...lines] = alignColumns([headOf(['server', ...columns]), ...rows]).split('\n')
  const indented = all.map((one) => wrapText(plainLine(reasonOf(one)), width - 2).map((line) => `  ${line}`))
  return [heading, ...lines.flatMap((line, row) => [line, ...(indented[row] ?? [])])].join('\n')
}

/** The columns of a verdict table between the server and the reason. */
const COLUMNS = {
  verdict: ({ state }) => state,
  sure: ({ confidence }) => percent(confidence),
  protocol: protocolText,
  process: processText,
  era: eraText,
  clients: clientsText,
  'decided by': decidedText,
} as const satisfies Readonly<Record<string, (verdict: Verdict) => string>>

type ProbeColumn = keyof typeof COLUMNS

function cellsOf(one: Probed, columns: readonly ProbeColumn[]): readonly string[] {
  if ('verdict' in one) return columns.map((column) => COLUMNS[column](one.verdict))
  return columns.map((column) => (column === 'verdict' ? 'not probed' : ''))
}

function reasonOf(one: Probed): string {
  return 'verdict' in one ? one.verdict.message : one.failure.text
}

function headOf(names: readonly string[]): readonly string[] {
  return names.map((name) => name.toUpperCase())
}

function factRows(verdict: Verdict): readonly (readonly string[])[] {
  const { confidence, level, versions, server, transport, requests, durationMs, cells } = verdict
  const asked = transport === 'http' ? `${requests} request${requests === 1 ? '' : 's'}` : 'a process for each question'
  return [
    ['so', meaningOf(verdict)],
    ['protocol', protocolText(verdict)],
    ['process', processText(verdict)],
    ['decided by', `${decidedText(verdict)}; ${percent(confidence)} sure (${level})`],
    ['era', versions.length === 0 ? eraText(verdict) : `${eraText(verdict)}: ${versions.join(', ')}`],
    ...(cells === undefined ? [] : [['clients', `through a gateway: ${clientsText(verdict)}`]]),
    ...(server === undefined ? [] : [['server', `${server.name} ${server.version}`.trim()]]),
    ['asked', `${asked}, ${durationMs} ms`],
  ]
}

function methodRows({ methods }: Verdict): readonly (readonly string[])[] {
  return Object.values(METHODS).map(({ number, title, accuracy }) => {
    const found = Object.values(methods).find(({ method }) => METHODS[method].number === number)
    const rated = `right on ${percent(accuracy)} of servers`
    return [`  ${number} ${title}`, found?.state ?? 'not used', found === undefined ? '' : sureText(found), rated]
  })
}

function sureText({ method, confidence, details }: MethodResult): string {
  return method === 'capabilities' ? `score ${String(details['score'])}` : percent(confidence)
}

function decidedText({ decidedBy }: Verdict): string {
  if (isMethod(decidedBy)) {
    const { number, title } = METHODS[decidedBy]
    return `method ${number}, ${title}`
  }
  return RULE_NAMES[decidedBy]
}

function isMethod(decidedBy: Verdict['decidedBy']): decidedBy is keyof typeof METHODS {
  return Object.hasOwn(METHODS, decidedBy)
}

/** Whether the protocol needs a session, without the name of a verdict: scripts search for those. */
function protocolText({ protocol }: Verdict): string {
  return findingText(protocol, PROTOCOL_WORDS)
}

/** Whether the process seems to keep something. */
function processText({ process }: Verdict): string {
  return findingText(process, PROCESS_WORDS)
}

const PROTOCOL_WORDS = { STATELESS: 'needs no session', STATEFUL: 'needs a session', UNKNOWN: 'not known' } as const
const PROCESS_WORDS = {
  STATELESS: 'seems to keep nothing',
  STATEFUL: 'seems to keep something',
  UNKNOWN: 'not known',
} as const

function findingText(
  { state, confidence }: ProbeFinding,
  words: Readonly<Record<ProbeFinding['state'], string>>,
): string {
  return state === 'UNKNOWN' ? words[state] : `${words[state]} (${percent(confidence)})`
}

const RULE_NAMES = {
  era: 'its era',
  transport: 'its transport',
  control: 'the test with and without initialize',
  declaration: 'what it declares',
  witness: 'the witness call',
  nothing: 'nothing',
} as const

function eraText({ era }: Verdict): string {
  return era === 'modern' ? 'stateless' : era === 'legacy' ? 'sessions' : 'unknown'
}

/** For which clients a gateway can serve it. */
function clientsText({ cells }: Verdict): string {
  return cells === undefined ? '' : cellsText(cells)
}

function percent(share: number): string {
  return `${Math.round(share * 100)} %`
}

/** The verdict on one of several servers, or why it could not be probed. */
export type Probed = { readonly name: string } & ({ readonly verdict: Verdict } | { readonly failure: Failure })

/** What a verdict means for the operator of the server. It contains no name of a verdict: scripts search for those. */
export function meaningOf({ state, transport, declared, evidence }: Verdict): string {
  // Such a server needs no sessions, but its instances may seal state with different keys.
  const isSpread = state === 'STATELESS' && transport === 'http'
  const isRefused = evidence.some(({ check, details }) => check === 'replica' && details?.['isAccepted'] === false)
  if (isSpread && isRefused) return REPLICA_REFUSES
  if (isSpread && declared?.session?.poolable === false) return NOT_POOLABLE
  return MEANINGS[state][transport]
}

const NOT_POOLABLE =
  'it needs no sessions, but declares that one instance cannot continue the calls of another (poolable: false). The usual reason is a missing key: servers made with Pannier need PANNIER_KEYS (pannier keys new)'
const REPLICA_REFUSES =
  'it needs no sessions, but its instances do not accept what another one gave out (see replica): give them the same keys and let them reach each other'
const UNDECIDED = 'until it is decided, take it for one that needs its sessions; --explain shows what it answered'

const MEANINGS = {
  STATELESS: {
    http: 'a load balancer may send each request to any instance',
    stdio: 'any process of it may serve any request',
  },
  STATEFUL: {
    http: 'run one instance, or send all requests of a session to the same one',
    stdio: 'each client needs a process of its own, for as long as it works',
  },
  UNKNOWN: { http: `${UNDECIDED}, --header lets the probe in`, stdio: UNDECIDED },
} as const

/** One message that was sent or received. The library has hidden secrets and removed control characters. */
export function explainText({ direction, connection, way, headers, text }: Exchanged, server?: string): string {
  const mark = direction === 'sent' ? '>' : '<'
  const of = server === undefined ? '' : ` (${plainLine(server)})`
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}`)
  const body = text === '' ? [] : text.split('\n')
  return [`${mark} ${connection} ${way}${of}`, ...[...lines, ...body].map((line) => `    ${line}`)].join('\n')
}

/** Verdicts as Markdown. Text of servers is escaped. */
export function probeMarkdown(all: readonly Probed[]): string {
  const columns = ['verdict', 'sure', 'protocol', 'process', 'era', 'decided by'] as const
  const head = ['server', ...columns, 'why']
  const rows = all.map((one) => {
    const [verdict = '', ...cells] = cellsOf(one, columns)
    const state = 'verdict' in one ? `**${verdict}**` : verdict
    return [escapeMarkdown(one.name), state, ...cells, serverMarkdown(reasonOf(one))]
  })
  const table = [
    `| ${head.join(' | ')} |`,
    `|${'---|'.repeat(head.length)}`,
    ...rows.map((row) => `| ${row.join(' | ')} |`),
  ]
  const sections = all.map(section).filter((text) => text !== '')
  return [table.join('\n'), ...sections].join('\n\n')
}

function section(one: Probed): string {
  if (!('verdict' in one) || one.verdict.evidence.length + one.verdict.process.because.length === 0) return ''
  const lines = one.verdict.evidence.map(({ check, points, sentence }) => {
    const to = points === 'UNKNOWN' ? '' : ` (${points})`
    return `- ${check}${to}: ${serverMarkdown(sentence)}`
  })
  const kept = one.verdict.process.because.map((sentence) => `- process: ${serverMarkdown(sentence)}`)
  const clients = (one.verdict.cells ?? []).map(({ sentence }) => `- through a gateway: ${serverMarkdown(sentence)}`)
  return [`### ${escapeMarkdown(one.name)}`, [...lines, ...kept, ...clients].join('\n')].join('\n\n')
}

/** Escapes text of a server, and breaks autolinks and mentions with an invisible word joiner. */
function serverMarkdown(text: string): string {
  return escapeMarkdown(text).replace(/:(?=\/\/)|\bwww(?=\.)|@/gi, `$&${WORD_JOINER}`)
}

const WORD_JOINER = '\u2060'

function escapeMarkdown(text: string): string {
  return plainText(text)
    .replace(/\n+/g, ' ')
    .replace(/[\\`*_[\]<>|!#&~$]/g, '\\$&')
}
