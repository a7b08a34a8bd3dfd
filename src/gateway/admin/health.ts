/** Health and status of the servers behind a gateway, for operators: plain data without secrets. */
import { nameOf } from '../../client/index.ts'
import type { Json } from '../../protocol/index.ts'
import type { MissingPeer } from '../../cluster/index.ts'
import { shortened } from '../../server/internal.ts'
import type { Backend } from '../backends/backend.ts'
import { acceptCommand, problemText, type UnusableBackend } from '../config/index.ts'
import type { GatewayReport } from '../options.ts'
import type { ServerMeasures } from '../telemetry/metrics.ts'
import { type Cell, type CellFacts, cellsOf, declaredAbilities } from '../../probe/internal.ts'

export interface ReadinessFacts {
  /** Whether this gateway is stopping and takes no new calls. */
  readonly isStopping: boolean
  readonly backends: readonly Backend[]
  readonly leftOut: readonly UnusableBackend[]
}

export interface HealthFacts extends ReadinessFacts {
  /** The mcp.json file, if there is one. */
  readonly file: string | undefined
  /** The fault of the gateway's database, if any. */
  readonly trouble: string | undefined
  /** Configured peer addresses with no gateway that this one can work with. */
  readonly missing: readonly MissingPeer[]
  /** Names and patterns in the configuration that fit no tool, as sentences. */
  readonly unfitting: readonly string[]
  /** The reason why tools of a server are withheld and cannot be accepted. */
  readonly pinFaultOf: (server: string) => string | undefined
}

const STOPPING = 'This gateway is being stopped. It takes no new calls, and ends after those that it has.'

/** Whether the gateway is ready: it takes new calls, and some server can be used, or none is configured. */
export function isReady({ isStopping, backends, leftOut }: ReadinessFacts): boolean {
  return !isStopping && (backends.length + leftOut.length === 0 || backends.some(servesSomething))
}

/** Whether the server is up and not refused, and not all its tools are withheld. */
function servesSomething({ connector, lists, isRejected }: Backend): boolean {
  if (connector.condition.kind !== 'up' || isRejected) return false
  return lists.withheld.size === 0 || lists.served().tools.length > 0
}

export function reportOf(facts: HealthFacts & { readonly facts: GatewayFacts }): GatewayReport {
  const servers = [...serversOf(facts.backends, facts.facts), ...leftOutOf(facts.leftOut)]
  return { health: healthOf(facts), servers }
}

/** Live, ready, and warnings as sentences. */
function healthOf(facts: HealthFacts): Json {
  const { isStopping, file, backends, leftOut, trouble, missing, unfitting, pinFaultOf } = facts
  const up = backends.filter(({ connector }) => connector.condition.kind === 'up')
  return {
    live: true,
    ready: isReady(facts),
    servers: backends.length,
    leftOut: leftOut.length,
    up: up.length,
    warnings: [
      ...(isStopping ? [STOPPING] : []),
      ...(trouble === undefined ? [] : [trouble]),
      ...missing.map(missingText),
      ...backends.flatMap((backend) => warningsOf(backend, file, pinFaultOf(backend.name))),
      ...leftOut.map(
        ({ name, problems }) => `The server "${name}" is left out: ${problems.map(problemText).join(' ')}`,
      ),
      ...unfitting,
    ],
  }
}

function missingText({ address, kind, why }: MissingPeer): string {
  return kind === 'unopened'
    ? `The instance at ${address} cannot open what this gateway seals, so they do not work together: it has other keys, or is no gateway. Give all gateways the same PANNIER_KEYS.`
    : `No gateway is at ${address}, where PANNIER_PEERS says that there is one (${why}). It is looked for.`
}

/** The servers of the configuration that cannot be served. */
function leftOutOf(leftOut: readonly UnusableBackend[]): readonly Json[] {
  return leftOut.map(({ name, problems }) => ({
    name,
    condition: 'left out',
    why: problems.map(problemText).join(' '),
  }))
}

function unreachedOf({ name, upstreams }: Backend): readonly string[] {
  const out = upstreams?.all.filter(({ isOut }) => isOut) ?? []
  if (out.length === 0) return []
  const where = out.map(({ url }) => nameOf({ url })).join(', ')
  return [`The server "${name}" is not used at ${where}, because connecting fails there. That is tried again.`]
}

/** The warning about a server that cannot be called. */
function absenceOf({ name, connector: { condition }, config }: Backend): readonly string[] {
  if (condition.kind === 'up') return []
  if (condition.kind === 'starting')
    return [`The server "${name}" has not started yet. It has ${config.settings.startSeconds} seconds for that.`]
  return [`The server "${name}" is not there: ${condition.why} ${condition.advice ?? 'It is tried again.'}`]
}

function warningsOf(backend: Backend, file: string | undefined, pinFault: string | undefined): readonly string[] {
  const { name, keepsState, config } = backend
  const { withheld } = backend.lists
  const isProcess = 'command' in config.address
  return [
    ...absenceOf(backend),
    ...unreachedOf(backend),
    ...(keepsState
      ? [
          `The server "${name}" keeps something between calls, so each caller has a ${isProcess ? 'process' : 'session'} of their own there. What it keeps is lost when that ends. Where the server has a stateless form, use that; a client that must not lose it connects to the server directly.`,
        ]
      : []),
    ...(withheld.size > 0 ? [pinFault ?? withheldText(name, [...withheld], file)] : []),
  ]
}

function withheldText(name: string, tools: readonly string[], file: string | undefined): string {
  const more = tools.length - MAX_NAMED
  const named = [...tools.slice(0, MAX_NAMED).map((tool) => shortened(tool)), ...(more > 0 ? [`and ${more} more`] : [])]
  return `The server "${name}" has new or changed definitions of tools, which are withheld: ${named.join(', ')}. Look at them, and accept them, with: ${acceptCommand(file)}`
}

/** Maximum number of withheld tools that are named. */
const MAX_NAMED = 20

export function serversOf(backends: readonly Backend[], facts: GatewayFacts): readonly Json[] {
  return backends.map((backend) => {
    const { name, config, connector, prober, lists, keepsState, isShared, sender, era, limits } = backend
    const { about, condition } = connector
    const { verdict } = prober
    const clients = backendCells(backend, facts)
    return {
      name,
      address: nameOf(config.address),
      transport: connector.link?.isStreamSession === true ? 'sse' : 'url' in config.address ? 'http' : 'stdio',
      ...replicasOf(backend),
      condition: condition.kind,
      ...(condition.kind === 'down' && { why: condition.why, ...(condition.advice && { advice: condition.advice }) }),
      ...(about !== undefined && { revision: about.version, era, server: about.info }),
      state: config.settings.state === 'auto' ? (verdict?.state ?? 'UNKNOWN') : config.settings.state.toUpperCase(),
      ...(verdict !== undefined && {
        verdict: {
          confidence: verdict.confidence,
          message: verdict.message,
          checkedAt: new Date(verdict.checkedAt).toISOString(),
          ageSeconds: prober.ageSeconds,
          protocol: verdict.protocol.because,
          process: verdict.process.because,
        },
      }),
      keepsState,
      isShared,
      links: sender.links,
      inFlight: limits.inFlight,
      ...(clients && { clients }),
      offers: Object.fromEntries(Object.entries(lists.latest).map(([list, entries]) => [list, entries.length])),
    }
  })
}

function replicasOf({ upstreams }: Backend): Json {
  if (upstreams === undefined || upstreams.all.length === 1) return {}
  const replicas = upstreams.all.map(({ url, isOut, inFlight }) => ({ address: nameOf({ url }), isOut, inFlight }))
  return { replicas }
}

/** The measurements of a server, taken when metrics are read. */
export function measuresOf(backend: Backend): ServerMeasures {
  const { name, config, connector, limits, sender, lists } = backend
  return {
    server: name,
    isUp: connector.condition.kind === 'up',
    inFlight: limits.inFlight,
    transport: 'command' in config.address ? 'process' : 'connection',
    links: sender.links + (hasOwnLink(backend) ? 1 : 0),
    tools: lists.served().tools.length,
    listAgeSeconds: lists.ageSeconds,
  }
}

/** Whether the gateway has its own process, session or stream there. */
function hasOwnLink({ connector: { link }, config }: Backend): boolean {
  const isOpen = link !== undefined && !link.isClosed
  return isOpen && !(link.era === 'modern' && 'url' in config.address)
}

/** The inputs of a server's cells that are the same for the whole gateway. */
export type GatewayFacts = Pick<CellFacts, 'knowsCallers' | 'gateways'>

/** What clients of either era can do with a server; undefined until it has been reached. */
export function backendCells(backend: Backend, facts: GatewayFacts): readonly [Cell, Cell] | undefined {
  const { connector, era, isShared, listsDiffer, isRejected, config } = backend
  const { about, link } = connector
  if (about === undefined) return undefined
  return cellsOf({
    ...facts,
    era,
    transport: link?.isStreamSession === true ? 'sse' : 'url' in config.address ? 'http' : 'stdio',
    isShared,
    listsDiffer,
    isRefused: isRejected,
    has: declaredAbilities(era, about.capabilities),
  })
}
