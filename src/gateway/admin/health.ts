/** What an operator is told of the servers behind a gateway: plain data without secrets. */
import { nameOf } from '../../client/index.ts'
import type { Json } from '../../protocol/index.ts'
import type { MissingPeer } from '../../server/internal.ts'
import type { Backend } from '../backends/backend.ts'
import { acceptCommand, problemText, type UnusableBackend } from '../config/index.ts'
import { backendCells, type GatewayFacts } from './cells.ts'

export interface HealthFacts {
  /** The mcp.json file, if there is one. */
  readonly file: string | undefined
  readonly backends: readonly Backend[]
  readonly leftOut: readonly UnusableBackend[]
  /** What is wrong with the gateway's database. */
  readonly trouble: string | undefined
  /** Where other gateways are configured, and none is that this one can work with. */
  readonly missing: readonly MissingPeer[]
  /** What is wrong with views, in words. */
  readonly views: readonly string[]
  /** Why the pins of a server cannot be used. */
  readonly pinFaultOf: (server: string) => string | undefined
}

/** Live, ready, and warnings in words. Ready: at least one server can be called, or there is none. */
export function healthOf({ file, backends, leftOut, trouble, missing, views, pinFaultOf }: HealthFacts): Json {
  const up = backends.filter(({ condition }) => condition.kind === 'up')
  return {
    live: true,
    ready: backends.length === 0 || up.length > 0,
    servers: backends.length,
    leftOut: leftOut.length,
    up: up.length,
    warnings: [
      ...(trouble === undefined ? [] : [trouble]),
      ...missing.map(missingText),
      ...backends.flatMap((backend) => warningsOf(backend, file, pinFaultOf(backend.name))),
      ...leftOut.map(leftOutText),
      ...views,
    ],
  }
}

function missingText({ address, kind, why }: MissingPeer): string {
  return kind === 'unopened'
    ? `The instance at ${address} cannot open what this gateway seals, so they do not work together: it has other keys, or is no gateway. Give all gateways the same PANNIER_KEYS.`
    : `No gateway is at ${address}, where PANNIER_PEERS says that there is one (${why}). It is looked for.`
}

function leftOutText({ name, problems }: UnusableBackend): string {
  return `The server "${name}" is left out: ${problems.map(problemText).join(' ')}`
}

/** Those that the configuration has, and that cannot be served. */
export function leftOutOf(leftOut: readonly UnusableBackend[]): readonly Json[] {
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

/** Of a server that cannot be called. */
function absenceOf({ name, condition, config }: Backend): readonly string[] {
  if (condition.kind === 'up') return []
  if (condition.kind === 'starting')
    return [`The server "${name}" has not started yet. It has ${config.settings.startSeconds} seconds for that.`]
  return [`The server "${name}" is not there: ${condition.why} ${condition.advice ?? 'It is tried again.'}`]
}

function warningsOf(backend: Backend, file: string | undefined, pinFault: string | undefined): readonly string[] {
  const { name, keepsState, config, withheld } = backend
  const isProcess = 'command' in config.address
  return [
    ...absenceOf(backend),
    ...unreachedOf(backend),
    ...(keepsState
      ? [
          `The server "${name}" keeps something between calls, so each caller has a ${isProcess ? 'process' : 'session'} of their own there. What it keeps is lost when that ends. Where the server has a stateless form, use that.`,
        ]
      : []),
    ...(withheld.size > 0
      ? [pinFault === undefined ? withheldText(name, [...withheld], file) : unpinnedText(name, pinFault)]
      : []),
  ]
}

function unpinnedText(name: string, pinFault: string): string {
  return `All tools of the server "${name}" are withheld, because their pins cannot be used: ${pinFault}`
}

function withheldText(name: string, tools: readonly string[], file: string | undefined): string {
  return `The server "${name}" has changed definitions of tools, which are withheld: ${tools.join(', ')}. Look at them, and accept them, with: ${acceptCommand(file)}`
}

export function serversOf(backends: readonly Backend[], facts: GatewayFacts): readonly Json[] {
  return backends.map((backend) => {
    const { name, config, about, condition, verdict, lists, keepsState, isShared, links } = backend
    return {
      name,
      address: nameOf(config.address),
      ...replicasOf(backend),
      condition: condition.kind,
      ...(condition.kind === 'down' && { why: condition.why, ...(condition.advice && { advice: condition.advice }) }),
      ...(about !== undefined && { revision: about.version, server: about.info }),
      state: config.settings.state === 'auto' ? (verdict?.state ?? 'UNKNOWN') : config.settings.state.toUpperCase(),
      ...(verdict !== undefined && {
        verdict: {
          confidence: verdict.confidence,
          message: verdict.message,
          checkedAt: new Date(verdict.checkedAt).toISOString(),
          ageSeconds: backend.verdictAgeSeconds,
          protocol: verdict.protocol.because,
          process: verdict.process.because,
        },
      }),
      keepsState,
      isShared,
      links,
      ...clientsOf(backend, facts),
      offers: Object.fromEntries(Object.entries(lists).map(([list, entries]) => [list, entries.length])),
    }
  })
}

/** What clients of both eras can do with it, whole. */
function clientsOf(backend: Backend, facts: GatewayFacts): Json {
  const cells = backendCells(backend, facts)
  return cells === undefined ? {} : { clients: cells }
}

function replicasOf({ upstreams }: Backend): Json {
  if (upstreams === undefined || upstreams.all.length === 1) return {}
  const replicas = upstreams.all.map(({ url, isOut, inFlight }) => ({ address: nameOf({ url }), isOut, inFlight }))
  return { replicas }
}
