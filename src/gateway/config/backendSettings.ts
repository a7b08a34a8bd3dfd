/** The settings of one server: `"pannier"` in its entry. */
import { patternFault, type ToolFilter } from '../catalog/patterns.ts'
import { prefixFault } from '../catalog/prefixes.ts'
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

/** What happens when a tool's definition changes: it is logged, or the tool is withheld until it is accepted. */
export type DefinitionPolicy = 'warn' | 'pin'

export interface BackendSettings {
  /** Whether the server keeps something between calls. @default 'auto': the probe finds out */
  readonly state: 'auto' | 'stateless' | 'stateful'
  /** What its names begin with in `/mcp`; false for nothing. @default its name */
  readonly prefix?: string | false
  /** More addresses of the same server, its replicas, beside `url`. @default none */
  readonly urls: readonly string[]
  /** Which of its tools are served, by their own names. @default all */
  readonly tools: ToolFilter
  /** @default that of the gateway */
  readonly definitions: DefinitionPolicy
  /** How long a call may take. @default 300 */
  readonly timeoutSeconds: number
  /** How long the server may take to start, or to answer for the first time. @default 60 */
  readonly startSeconds: number
  /** How long a process or a session is kept that nobody uses. @default 300 */
  readonly idleSeconds: number
  /** How many processes of a command run at once. @default 16 */
  readonly maxProcesses: number
  /** How many sessions are open at once. @default 1000 */
  readonly maxSessions: number
  /** How many requests are under way at once. @default 1000 */
  readonly maxInFlight: number
  /** The largest result. @default 16777216 */
  readonly maxResultBytes: number
  /** How old its lists may become, where the server does not say it, before they are read again. @default 300 */
  readonly listSeconds: number
  /** How long a call waits for the answer of a client of 2026-07-28. @default 3600 */
  readonly parkSeconds: number
  /** Whether a call may be repeated that was lost while it waited for an answer. @default for read-only and idempotent tools */
  readonly replay: boolean
  /** Whether the Authorization header of callers is passed on. @default false */
  readonly forwardAuthorization: boolean
  /** Whether it is left out. @default false */
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
  maxProcesses: 16,
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

export const definitionPolicy: Check<DefinitionPolicy> = oneOf('warn', 'pin')

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
