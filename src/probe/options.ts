/** The options of a probe, and how they are checked and filled in. */
import { assertOptionNames, isObject, MAX_TIMER_MS, type OptionNames } from '../protocol/index.ts'
import { MAX_REQUESTS, MAX_REQUESTS_EXTENDED, MIN_REQUESTS } from './budget.ts'
import type { HarmlessCall } from './decision/steps.ts'
import { ProbeError } from './errors.ts'
import { CHECKS, type CheckName } from './report/evidence.ts'
import { LISTEN_MS } from './wire/sse.ts'
import { ANSWER_MS } from './wire/timeLimit.ts'
import type { TraceListener } from './wire/trace.ts'
import { type KnownServer, readKnownServers } from './knownServers.ts'
import type { Lookup } from './wire/httpRequest.ts'
import { type Method, METHODS } from './methods/result.ts'
import { type Order, ORDER_NAMES } from './decision/rules.ts'

export interface ProbeOptions {
  /** Sent with each HTTP request, and never shown. @default those of an mcp.json entry */
  headers?: Readonly<Record<string, string>>
  /** How long one answer may take, in milliseconds. @default 10000 */
  timeoutMs?: number
  /** 'usual': behaviour, then what its process seems to keep. 'documented': known servers, sequential test, score. 'cheap-first': metadata, score, sequential test. @default 'usual' */
  order?: Order
  /** Only these methods. @default all, and the probe's further rules */
  methods?: readonly Method[]
  /** Known servers, searched before the built-in list. @default none */
  known?: readonly KnownServer[]
  /** Which checks to run for evidence: the usual ones, all, none, or these. They do not change the verdict. @default 'usual'; 'none' in the documented order */
  checks?: 'usual' | 'all' | 'none' | readonly CheckName[]
  /**
   * Whether the files of a program on this machine are read. No file is executed, and only names are shown. @default
   * true
   */
  program?: boolean
  /** Other instances of the same server; they get the same credentials. @default none */
  replicas?: readonly (string | URL)[]
  /** A tool that the probe may call. It calls no other. @default none */
  call?: HarmlessCall
  /** A tool that the probe calls twice in one process and once in a fresh one, to see whether anything is kept. @default none */
  witness?: HarmlessCall
  /** Credentials of another user, to check that a request state is refused from them. @default none */
  otherHeaders?: Readonly<Record<string, string>>
  /** After how long a request state should have expired, in milliseconds. @default expiry is not checked */
  expireMs?: number
  /** How long to listen to the GET stream, in milliseconds. @default 50 */
  listenMs?: number
  /** The largest number of HTTP requests. @default 8; 32 where checks, replicas or a tool are named */
  maxRequests?: number
  /** Called with every message, secrets hidden. */
  onExchange?: TraceListener
  /** Aborts the probe. */
  signal?: AbortSignal
  /** Resolves a host name to IP addresses. @default the system's resolver */
  lookup?: Lookup
  /** The environment variables that an mcp.json file may refer to. @default process.env */
  env?: Readonly<Record<string, string | undefined>>
  /** Milliseconds since 1970. @default Date.now */
  clock?: () => number
}

const PROBE_OPTIONS: OptionNames<ProbeOptions> = {
  headers: true,
  timeoutMs: true,
  order: true,
  methods: true,
  known: true,
  checks: true,
  program: true,
  replicas: true,
  call: true,
  witness: true,
  otherHeaders: true,
  expireMs: true,
  listenMs: true,
  maxRequests: true,
  onExchange: true,
  signal: true,
  lookup: true,
  env: true,
  clock: true,
}

type Filled = 'headers' | 'timeoutMs' | 'order' | 'known' | 'checks' | 'program' | 'listenMs' | 'maxRequests' | 'clock'

/** The options of a probe with their defaults. */
export interface Settings
  extends Readonly<Required<Pick<ProbeOptions, Filled>>>,
    Readonly<Omit<ProbeOptions, Filled | 'replicas'>> {
  readonly replicas: readonly URL[]
  /** Whether checks, replicas or a tool were named. */
  readonly isExtended: boolean
}

/** Fills in the defaults; throws, naming the option that is invalid. */
export function settingsOf(options: ProbeOptions): Settings {
  assertOptionNames(options, PROBE_OPTIONS, 'probe')
  const {
    headers = {},
    timeoutMs = ANSWER_MS,
    order = 'usual',
    program = true,
    listenMs = LISTEN_MS,
    clock = Date.now,
  } = options
  const { checks = order === 'documented' ? 'none' : 'usual', expireMs, methods, call, witness } = options
  for (const name of ['methods', 'replicas'] as const) assertList(name, options[name])
  for (const name of ['onExchange', 'lookup', 'clock'] as const) assertFunction(name, options[name])
  if (typeof program !== 'boolean') throw invalid('"program" must be true or false.')
  assertCall('call', call)
  assertCall('witness', witness)
  const replicas = (options.replicas ?? []).map(replicaUrl)
  const isExtended = replicas.length > 0 || call !== undefined || (checks !== 'usual' && checks !== 'none')
  const isLong = isExtended || witness !== undefined
  const { maxRequests = isLong ? MAX_REQUESTS_EXTENDED : MAX_REQUESTS } = options
  for (const [name, value] of Object.entries({ timeoutMs, listenMs, expireMs })) assertTime(name, value)
  if (typeof maxRequests !== 'number' || !(maxRequests >= MIN_REQUESTS))
    throw invalid(`"maxRequests" must be at least ${MIN_REQUESTS}.`)
  if (!ORDER_NAMES.includes(order)) throw invalid(`"order" must be one of ${ORDER_NAMES.join(', ')}.`)
  const unknown = (methods ?? []).find((method) => !Object.hasOwn(METHODS, method))
  if (unknown !== undefined || methods?.length === 0) {
    throw invalid(`"methods" must be some of ${Object.keys(METHODS).join(', ')}.`)
  }
  assertChecks(checks)
  const known = readKnownServers(options.known ?? [])
  const filled = { headers, timeoutMs, order, known, checks, program, listenMs, maxRequests, clock }
  return { ...options, ...filled, replicas, isExtended }
}

function assertTime(name: string, value: number | undefined): void {
  if (value === undefined || (typeof value === 'number' && value >= 1 && value <= MAX_TIMER_MS)) return
  throw invalid(`"${name}" must be a number of milliseconds from 1 to ${MAX_TIMER_MS}.`)
}

function assertList(name: string, value: unknown): void {
  if (value !== undefined && !Array.isArray(value)) throw invalid(`"${name}" must be a list.`)
}

function assertFunction(name: string, value: unknown): void {
  if (value !== undefined && typeof value !== 'function') throw invalid(`"${name}" must be a function.`)
}

function assertCall(option: string, call: unknown): void {
  if (call === undefined) return
  const { name, arguments: args = {} } = isObject(call) ? call : {}
  if (typeof name !== 'string' || name === '' || !isObject(args)) {
    throw invalid(`"${option}" must have the name of a tool, and its arguments as an object where it takes some.`)
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
