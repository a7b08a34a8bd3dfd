/** The servers of a gateway that runs, as text for a terminal: what needs attention, a table of the others, a legend. */
import { plainLine } from '../../client/index.ts'
import { acceptCommand, problemText } from '../../gateway/config/index.ts'
import type { Gateway } from '../../gateway/index.ts'
import { alignColumns, wrapText } from './layout.ts'

type ServedBackend = Gateway['backends'][number]

/** What the texts are made from. */
export type ShownGateway = Pick<Gateway, 'backends' | 'leftOut' | 'file' | 'cellsOf' | 'pinFaultOf'>

const HEAD = ['SERVER', 'TOOLS', 'REVISION', 'STATE', 'SERVED BY']

/** Everything that is shown once, at the start. */
export function servedText(gateway: ShownGateway, width = Infinity): string {
  const rows = rowsOf(gateway.backends)
  const blocks = [
    attentionLines(gateway, gateway.backends, width),
    rows.length === 0 ? [] : [alignColumns([HEAD, ...rows], width)],
    legendLines(gateway).flatMap((line) => wrapText(line, width)),
  ]
  return blocks
    .filter((lines) => lines.length > 0)
    .map((lines) => lines.join('\n'))
    .join('\n\n')
}

/** The same of servers that were still starting when the table was shown. */
export function laterText(gateway: ShownGateway, names: readonly string[], width = Infinity): string {
  const backends = gateway.backends.filter(({ name }) => names.includes(name))
  const rows = rowsOf(backends)
  const lines = [
    ...attentionLines({ ...gateway, leftOut: [] }, backends, width),
    ...(rows.length === 0 ? [] : [alignColumns(rows, width)]),
  ]
  return ['Since then:', ...lines].join('\n')
}

/** Servers that are not there or left out, those with withheld tools, and patterns that fit no tool. Each has the width of the terminal. */
function attentionLines(gateway: ShownGateway, backends: readonly ServedBackend[], width: number): readonly string[] {
  const notes = [
    ...backends.flatMap((backend) => attentionOf(backend, gateway)),
    ...gateway.leftOut.map(({ name, problems }) => [name, `left out: ${problems.map(problemText).join(' ')}`] as const),
  ]
  if (notes.length === 0) return []
  const rows = notes.map(([name, note]) => [plainLine(name, 40), plainLine(note, 400)])
  return ['NEEDS ATTENTION', alignColumns(rows, width), ...acceptLine(gateway, backends)]
}

function attentionOf(backend: ServedBackend, { pinFaultOf }: ShownGateway): readonly (readonly [string, string])[] {
  const { name, connector, lists, isRejected } = backend
  const { condition } = connector
  if (condition.kind === 'down') return [[name, `not there: ${[condition.why, condition.advice].join(' ').trim()}`]]
  const { size } = lists.withheld
  return [
    ...(isRejected ? [[name, 'refused: it keeps something between calls ("stateful": "reject").'] as const] : []),
    ...(size === 0
      ? []
      : [[name, pinFaultOf(name) ?? `withheld: ${size} of ${lists.latest.tools.length} tools`] as const]),
    ...Object.entries(lists.unmatched).flatMap(([member, patterns]: [string, readonly string[]]) =>
      patterns.map((pattern) => [name, `"${member}": "${pattern}" fits none of its tools`] as const),
    ),
  ]
}

/** The command that shows withheld tools, on its own line, because a wrapped command could not be copied. */
function acceptLine({ file, pinFaultOf }: ShownGateway, backends: readonly ServedBackend[]): readonly string[] {
  const isWaiting = backends.some(({ name, lists }) => lists.withheld.size > 0 && pinFaultOf(name) === undefined)
  return isWaiting ? [`See what changed in withheld tools with: ${acceptCommand(file)}`] : []
}

/** A row for each server that is there or starts. */
function rowsOf(backends: readonly ServedBackend[]): readonly (readonly string[])[] {
  return backends.filter(({ connector }) => connector.condition.kind !== 'down').map(rowOf)
}

function rowOf(backend: ServedBackend): readonly string[] {
  const { name, lists, connector, isRejected } = backend
  const first = plainLine(name, 40)
  if (connector.condition.kind === 'starting') return [first, '', '', '', 'starting; shown when it is up']
  return [
    first,
    String(lists.served().tools.length),
    plainLine(connector.about?.version ?? '', 20),
    stateOf(backend),
    isRejected ? 'not served' : servingOf(backend),
  ]
}

function stateOf({ config, prober: { verdict } }: ServedBackend): string {
  const { state } = config.settings
  if (state !== 'auto') return `${state} (declared)`
  if (verdict === undefined) return 'not known yet'
  return `${verdict.state.toLowerCase()} (${Math.round(verdict.confidence * 100)} %)`
}

function servingOf(backend: ServedBackend): string {
  const { config, connector, isShared } = backend
  const isProcess = 'command' in config.address
  if ('openapi' in config.address) return 'its OpenAPI document'
  if (!isShared) {
    const { startedInMs } = connector
    const start = isProcess && startedInMs !== undefined ? ` (${(startedInMs / 1000).toFixed(1)} s)` : ''
    return `a ${isProcess ? 'process' : 'session'} per caller${start}${mayBeShared(backend) ? ' *' : ''}`
  }
  if (connector.about?.version === '2026-07-28') return isProcess ? 'one process' : 'a request each'
  return isProcess ? 'shared processes' : 'a shared connection'
}

/** Whether a server is most likely stateless, and not shared because that is a guess. */
function mayBeShared({ isShared, prober: { verdict } }: ServedBackend): boolean {
  return !isShared && verdict?.state === 'STATELESS'
}

/** At most four lines, each only if it applies. */
function legendLines(gateway: ShownGateway): readonly string[] {
  const up = gateway.backends.filter(({ connector }) => connector.condition.kind === 'up')
  const isLimited = up.some((backend) => gateway.cellsOf(backend)?.some(({ works }) => works === 'limited'))
  return [
    ...(up.some(({ config }) => config.settings.state === 'auto')
      ? ['STATE: what the probe found, and how sure it is; "state" in an entry decides.']
      : []),
    ...(up.some(mayBeShared)
      ? ['* with "state": "stateless" in its entry, callers share one and save its start.']
      : []),
    ...(isLimited ? ['All tools serve clients of both eras; /servers lists what differs between them.'] : []),
    ...lostText(gateway),
  ]
}

/** The servers whose state for a caller is lost with the gateway, or the worker, that has it. */
export function lostText(gateway: Pick<Gateway, 'backends' | 'cellsOf'>): readonly string[] {
  // In the session era, each of these limits is a loss.
  const lost = gateway.backends.filter((backend) => {
    const [, session] = gateway.cellsOf(backend) ?? []
    return session?.limits.some(({ kind }) => kind === 'memory')
  })
  if (lost.length === 0) return []
  const names = lost.map(({ name }) => plainLine(name, 40)).join(', ')
  // The id of a session can be kept in a database; a process cannot.
  const isHttp = ({ config: { address } }: ServedBackend): boolean => 'url' in address && address.transport !== 'sse'
  return [
    `What a caller has at ${names} is lost with the process of the gateway that has it${lost.some(isHttp) ? ' (see --postgres)' : ''}.`,
  ]
}

/** `/mcp: 214 tools, found through 3. A model reads 2,311 bytes instead of 98,412.` */
export function catalogueText({ path, tools, saved }: Gateway['catalogues'][number]): string {
  const start = `${path}: ${counted(tools)} ${tools === 1 ? 'tool' : 'tools'}`
  if (saved === undefined) return `${start}.`
  const { before, after } = saved
  return `${start}, found through 3. A model reads ${counted(after)} bytes instead of ${counted(before)}.`
}

/** `98,412`. `Intl` would load the data of all languages, which takes 40 ms. */
function counted(count: number): string {
  return String(count).replaceAll(/\B(?=(?:\d{3})+$)/g, ',')
}
