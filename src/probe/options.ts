/** What a probe can be told, with every default in one place. */
import { isObject } from '../protocol/index.ts'
import type { HarmlessCall } from './checks/check.ts'
import type { Chosen } from './checks/runChecks.ts'
import { ProbeError } from './errors.ts'
import { CHECKS, type CheckName } from './report/evidence.ts'
import type { Watch } from './wire/trace.ts'
import { type KnownServer, readKnownServers } from './knownServers.ts'
import type { Lookup } from './wire/httpRequest.ts'
import { type Method, METHODS } from './methods/result.ts'
import type { Order } from './decision/verdict.ts'

export interface ProbeOptions {
  /** Sent with each HTTP request, and shown to nobody. @default those of an mcp.json entry */
  headers?: Readonly<Record<string, string>>
  /** How long one answer may take, in milliseconds. @default 10000 */
  timeoutMs?: number
  /** Known servers, sequential test, score; or, cheap first: metadata, score, sequential test. @default 'usual' */
  order?: Order
  /** These methods and nothing else. @default all three, and what the probe knows beyond them */
  methods?: readonly Method[]
  /** Servers that are known, looked at before ours. @default none */
  known?: readonly KnownServer[]
  /** Which checks to make for evidence: the usual ones, all, none, or these. They do not change the verdict. @default 'usual' */
  checks?: 'usual' | 'all' | 'none' | readonly CheckName[]
  /** Other instances of the same server, asked with the same credentials. @default none */
  replicas?: readonly (string | URL)[]
  /** A tool that may be called: no other ever is. @default none */
  call?: HarmlessCall
  /** The headers of somebody else, to see whether they are let into what is not theirs. @default nobody */
  otherHeaders?: Readonly<Record<string, string>>
  /** After how long a request state should have expired, in milliseconds. @default that is not tried */
  expireMs?: number
  /** How long to listen to a stream that belongs to no request, in milliseconds. @default 50 */
  listenMs?: number
  /** The most HTTP requests. @default 8, and 32 where you name checks, replicas or a tool */
  maxRequests?: number
  /** Told of every message, with secrets hidden. */
  onExchange?: Watch
  /** Gives up. */
  signal?: AbortSignal
  /** How a name becomes addresses. @default the system's way */
  lookup?: Lookup
  /** The variables that an mcp.json file may name. @default process.env */
  env?: Readonly<Record<string, string | undefined>>
  /** Milliseconds since 1970. @default Date.now */
  clock?: () => number
}

export interface Settings {
  readonly headers: Readonly<Record<string, string>>
  readonly timeoutMs: number
  readonly order: Order
  readonly methods: readonly Method[] | undefined
  readonly known: readonly KnownServer[]
  readonly checks: Chosen | 'none'
  readonly replicas: readonly URL[]
  readonly call: HarmlessCall | undefined
  readonly otherHeaders: Readonly<Record<string, string>> | undefined
  readonly expireMs: number | undefined
  readonly listenMs: number
  readonly maxRequests: number
  /** Whether somebody named what to look at. */
  readonly asksMore: boolean
  readonly onExchange: Watch | undefined
  readonly signal: AbortSignal | undefined
  readonly lookup: Lookup | undefined
  readonly clock: () => number
}

const FEW = 8
const MORE = 32
/** Less cannot even decide and clean up. */
const FEWEST = 4

/** Fills in the defaults; throws, and names the option that cannot be used. */
export function settle(options: ProbeOptions): Settings {
  const { timeoutMs = 10_000, order = 'usual', listenMs = 50, expireMs, methods, checks = 'usual', call } = options
  for (const name of ['methods', 'replicas'] as const) assertList(name, options[name])
  for (const name of ['onExchange', 'lookup', 'clock'] as const) assertFunction(name, options[name])
  assertCall(call)
  const replicas = (options.replicas ?? []).map(replicaUrl)
  const asksMore = replicas.length > 0 || call !== undefined || (checks !== 'usual' && checks !== 'none')
  const { maxRequests = asksMore ? MORE : FEW } = options
  for (const [name, value] of Object.entries({ timeoutMs, listenMs, expireMs })) assertTime(name, value)
  if (typeof maxRequests !== 'number' || !(maxRequests >= FEWEST))
    throw invalid(`"maxRequests" must be at least ${FEWEST}.`)
  if (order !== 'usual' && order !== 'cheap-first') throw invalid('"order" must be "usual" or "cheap-first".')
  const unknown = (methods ?? []).find((method) => !Object.hasOwn(METHODS, method))
  if (unknown !== undefined || methods?.length === 0) {
    throw invalid(`"methods" must be some of ${Object.keys(METHODS).join(', ')}.`)
  }
  assertChecks(checks)
  const { headers = {}, otherHeaders, onExchange, signal, lookup, clock = Date.now } = options
  const known = readKnownServers(options.known ?? [])
  const times = { timeoutMs, listenMs, expireMs, clock }
  return {
    ...times,
    headers,
    order,
    methods,
    checks,
    replicas,
    call,
    maxRequests,
    asksMore,
    known,
    otherHeaders,
    onExchange,
    signal,
    lookup,
  }
}

function assertTime(name: string, value: number | undefined): void {
  if (value === undefined || (typeof value === 'number' && value >= 1 && value <= 2 ** 31 - 1)) return
  throw invalid(`"${name}" must be a number of milliseconds from 1 to ${2 ** 31 - 1}.`)
}

function assertList(name: string, value: unknown): void {
  if (value !== undefined && !Array.isArray(value)) throw invalid(`"${name}" must be a list.`)
}

function assertFunction(name: string, value: unknown): void {
  if (value !== undefined && typeof value !== 'function') throw invalid(`"${name}" must be a function.`)
}

function assertCall(call: unknown): void {
  if (call === undefined) return
  const { name, arguments: args = {} } = isObject(call) ? call : {}
  if (typeof name !== 'string' || name === '' || !isObject(args)) {
    throw invalid('"call" must have the name of a tool, and its arguments as an object where it takes some.')
  }
}

function assertChecks(checks: NonNullable<ProbeOptions['checks']>): void {
  if (typeof checks === 'string' && ['usual', 'all', 'none'].includes(checks)) return
  if (typeof checks !== 'string') assertList('checks', checks)
  const unknown = typeof checks === 'string' ? checks : checks.find((name) => !CHECKS.includes(name))
  if (unknown !== undefined) throw invalid(`There is no check "${unknown}"; there are ${CHECKS.join(', ')}.`)
}

function replicaUrl(replica: string | URL): URL {
  const url = URL.canParse(String(replica)) ? new URL(replica) : undefined
  if (url === undefined || !/^https?:$/.test(url.protocol)) throw invalid('A replica must be an http(s) URL.')
  if (url.username !== '' || url.password !== '') {
    throw invalid('The address of a replica holds a user name or password; give an Authorization header instead.')
  }
  return url
}

function invalid(sentence: string): ProbeError {
  return new ProbeError('PROBE_OPTION_INVALID', sentence)
}
