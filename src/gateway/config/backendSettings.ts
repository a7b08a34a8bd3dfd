/** The settings of one server: `"pannier"` in its entry. */
import { patternFault, type ToolFilter } from '../catalog/patterns.ts'
import type { DefinitionPolicy } from '../catalog/pins.ts'
import { prefixFault } from '../catalog/names.ts'
import {
  address,
  type Check,
  flag,
  listOf,
  type MemberChecks,
  oneOf,
  type SettingPlace,
  seconds,
  shape,
  text,
  whole,
} from './checks.ts'

/** The settings of a server, under `"pannier"` in its entry. */
export interface BackendSettings {
  /**
   * Whether the server keeps something between calls, if you know it; `"auto"` lets the probe find out. @default
   * 'auto'
   */
  readonly state: 'auto' | 'stateless' | 'stateful'
  /** The prefix of its names at `/mcp`; false for no prefix, allowed for one server. @default its name */
  readonly prefix?: string | false
  /** More addresses of the same server, its replicas, beside `url`. @default [] */
  readonly urls: readonly string[]
  /** Patterns for its own tool names: `allow` and `deny`. @default {"allow":["*"],"deny":[]} */
  readonly tools: ToolFilter
  /**
   * `"warn"` logs a tool's changed definition; `"pin"` withholds the tool until it is accepted; `"freeze"` withholds
   * new tools as well. @default 'warn', or that of the gateway
   */
  readonly definitions: DefinitionPolicy
  /** How long a call may take; time in which its caller is asked does not count. @default 300 */
  readonly timeoutSeconds: number
  /** How long the server may take to start and to answer for the first time. @default 60 */
  readonly startSeconds: number
  /** How long an idle process or session is kept for its caller, with its state. @default 300 */
  readonly idleSeconds: number
  /**
   * Maximum number of processes of a command, besides the one from which lists are read; one caller, or all anonymous
   * callers of one address, have at most half of them. The default assumes programs of 60 MB, like a small Node
   * program: 4 GB if all of them run. @default 64
   */
  readonly maxProcesses: number
  /** How many processes or sessions are opened in advance, within `maxProcesses` or `maxSessions`. @default 0 */
  readonly warm: number
  /** Maximum number of open sessions. @default 1000 */
  readonly maxSessions: number
  /** Maximum number of concurrent requests; one caller has at most half of them. @default 1000 */
  readonly maxInFlight: number
  /** The largest result, in bytes. @default 16777216 */
  readonly maxResultBytes: number
  /** How old its lists may become before they are read again, if the server gives no `ttlMs`. @default 300 */
  readonly listSeconds: number
  /**
   * How long a call waits for an answer: from the client's next round, or from a session-era client that was asked on
   * its stream. @default 3600
   */
  readonly parkSeconds: number
  /**
   * Whether a lost call of a 2026-07-28 client is restarted with the answers so far; true for all tools of the server.
   * A call is lost if its session-era server ends while it runs, or if its gateway or server ends while it waits for
   * an answer. @default false: only tools that say `readOnlyHint` or `idempotentHint`
   */
  readonly replay: boolean
  /** Whether the callers' `Authorization` header is forwarded; only over https, or to this machine. @default false */
  readonly forwardAuthorization: boolean
  /** Whether the server is skipped; `"disabled": true` beside `command` or `url` does the same. @default false */
  readonly disabled: boolean
}

export const BACKEND_DEFAULTS: BackendSettings = {
  state: 'auto',
  urls: [],
  tools: { allow: ['*'], deny: [] },
  definitions: 'warn',
  timeoutSeconds: 300,
  startSeconds: 60,
  idleSeconds: 300,
  maxProcesses: 64,
  warm: 0,
  maxSessions: 1000,
  maxInFlight: 1000,
  maxResultBytes: 16_777_216,
  listSeconds: 300,
  parkSeconds: 3600,
  replay: false,
  forwardAuthorization: false,
  disabled: false,
}

export const patterns: Check<readonly string[]> = listOf(text(patternFault))

const toolFilter = shape<ToolFilter>({ allow: patterns, deny: patterns })

const prefix: Check<string | false> = (value, place) => (value === false ? false : text(prefixFault)(value, place))

export const definitionPolicy: Check<DefinitionPolicy> = oneOf('warn', 'pin', 'freeze')

const checks: MemberChecks<BackendSettings> = {
  state: oneOf('auto', 'stateless', 'stateful'),
  prefix,
  urls: listOf(address),
  tools: (value, place) => ({ ...BACKEND_DEFAULTS.tools, ...toolFilter(value, place) }),
  definitions: definitionPolicy,
  timeoutSeconds: seconds,
  startSeconds: seconds,
  idleSeconds: seconds,
  maxProcesses: whole(1),
  warm: whole(0),
  maxSessions: whole(1),
  maxInFlight: whole(1),
  maxResultBytes: whole(1),
  listSeconds: seconds,
  parkSeconds: seconds,
  replay: flag,
  forwardAuthorization: flag,
  disabled: flag,
}

const members = shape(checks)

export const BACKEND_SETTINGS: readonly string[] = Object.keys(checks)

/** `definitions`: the policy of the gateway. */
export function backendSettings(value: unknown, place: SettingPlace, definitions: DefinitionPolicy): BackendSettings {
  const given = value === undefined ? {} : (members(value, place) ?? {})
  return { ...BACKEND_DEFAULTS, definitions, ...given }
}
