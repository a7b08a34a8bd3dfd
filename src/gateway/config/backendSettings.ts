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

export interface BackendSettings {
  /** Whether the server keeps state between calls. @default 'auto': the probe finds out */
  readonly state: 'auto' | 'stateless' | 'stateful'
  /** The prefix of its names in `/mcp`; false for none. @default its name */
  readonly prefix?: string | false
  /** More addresses of the same server, its replicas, beside `url`. @default none */
  readonly urls: readonly string[]
  /** The tools that are served, by their own names. @default all */
  readonly tools: ToolFilter
  /** @default that of the gateway */
  readonly definitions: DefinitionPolicy
  /** Timeout of a call. @default 300 */
  readonly timeoutSeconds: number
  /** Timeout for the start of the server, or its first answer. @default 60 */
  readonly startSeconds: number
  /** Lifetime of an idle process or session. @default 300 */
  readonly idleSeconds: number
  /** Maximum number of processes of a command. @default 64: of 60 MB each, 4 GB */
  readonly maxProcesses: number
  /** Number of processes of a command that are started ahead, for callers to come. @default 0 */
  readonly warm: number
  /** Maximum number of open sessions. @default 1000 */
  readonly maxSessions: number
  /** Maximum number of requests in flight. @default 1000 */
  readonly maxInFlight: number
  /** Maximum size of a result. @default 16777216 */
  readonly maxResultBytes: number
  /** Refresh interval of its lists, unless the server gives a ttl. @default 300 */
  readonly listSeconds: number
  /** How long a call waits for the answer of a 2026-07-28 client. @default 3600 */
  readonly parkSeconds: number
  /**
   * Whether a call that was lost while it waited for an answer may be run again. @default for read-only and idempotent
   * tools
   */
  readonly replay: boolean
  /** Whether the Authorization header of callers is forwarded. @default false */
  readonly forwardAuthorization: boolean
  /** Whether the server is left out. @default false */
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
