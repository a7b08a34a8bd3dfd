/** The settings of the gateway itself: `"gateway"` at the top of the file. */
import { isObject } from '../../protocol/index.ts'
import { bearer, type BearerOptions } from '../../server/index.ts'
import { createHostGuard, isLocalHost } from '../../server/internal.ts'
import { postgres } from '../../postgres/internal.ts'
import { loginSettings } from '../../tasks/internal.ts'
import { StateError } from '../../state/internal.ts'
import { createKeyring } from '../../state/seal/index.ts'
import { nameFault } from '../catalog/names.ts'
import type { ConsoleRole } from '../consoleRole.ts'
import type { View } from '../catalog/views.ts'
import type { DefinitionPolicy } from '../catalog/pins.ts'
import { definitionPolicy, patterns } from './backendSettings.ts'
import { headerNameFault } from './callerValues.ts'
import type { AuditSettings } from '../telemetry/audit.ts'
import { notify, type NotifySettings } from './notifySettings.ts'
import type { ApprovalRule, CallRule } from '../rules/index.ts'
import { approvalRules, callRules } from './ruleSettings.ts'
import {
  address,
  type Check,
  flag,
  listOf,
  type MemberChecks,
  oneOf,
  type SettingPlace,
  recordOf,
  refuse,
  secondsFrom,
  shape,
  text,
  whole,
  within,
  faultOf,
} from './checks.ts'

/** Whether a route lists all tools, or three tools that find, describe and call them. */
export type CatalogueMode = 'all' | 'search'

/** A route `/views/NAME` with a selection of tools. */
export interface ViewSettings extends View {
  /** What the view lists: all its tools, or three that find, describe and call them. @default that of the gateway */
  readonly catalogue: CatalogueMode
}

/** The limits of one principal. */
export interface PrincipalLimits {
  /** Maximum number of requests within a minute, over all addresses and workers. @default no limit */
  readonly requestsPerMinute?: number
  /** Maximum number of calls under way at one address, over all workers. @default no limit */
  readonly callsAtOnce?: number
  /**
   * The header in which a proxy writes the client's address, such as `X-Real-IP`. It distinguishes anonymous callers if all connections come from the proxy, which must overwrite the header or append the address last. @default none
   */
  readonly clientAddressHeader?: string
}

/** The address of health, servers and metrics. */
export interface AdminSettings {
  /** The address to listen at. Beyond loopback it needs a token. @default '127.0.0.1' */
  readonly host: string
  /** The port. @default 8932 */
  readonly port: number
  /** The bearer token that callers of `/health`, `/servers` and `/metrics` need. @default none */
  readonly token?: string
  /** How people log in at the console. Beyond loopback there is no console without it. @default none */
  readonly login?: ConsoleLoginSettings
}

/** The login at the console: a client of an OpenID Connect provider, and the roles of people. */
export interface ConsoleLoginSettings {
  /** The issuer of the provider. */
  readonly issuer: string
  /** The id of the console as a client of the provider. Its redirect address is that of the console with `/login`. */
  readonly clientId: string
  /** The secret of that client. @default none: a public client */
  readonly clientSecret?: string
  /** The scopes to ask for. @default ['openid', 'profile'] */
  readonly scopes?: readonly string[]
  /** The admin address as browsers reach it, such as `https://admin.example.com`. @default where it listens */
  readonly url?: string
  /** Who looks, who answers questions, too, and who changes the gateway, too, by names such as `role:sre`. */
  readonly roles: Readonly<Partial<Record<ConsoleRole, readonly string[]>>>
}

/** The identity of callers: bearer tokens (JWT) of one issuer. */
export type PrincipalSettings = Pick<
  BearerOptions,
  'issuer' | 'audience' | 'scopes' | 'authorizationServers' | 'algorithms' | 'typ' | 'clockToleranceSeconds'
> & { readonly jwks: string; readonly resource?: string }

/** The settings of the gateway, under `"gateway"` at the top of the file. */
export interface GatewaySettings {
  /** Whether servers that need sessions are served, `"serve"`, or refused, `"reject"`. @default 'serve' */
  readonly stateful: 'serve' | 'reject'
  /** Routes with a selection of tools, `/views/NAME`. @default {} */
  readonly views: Readonly<Record<string, ViewSettings>>
  /** What `/mcp` lists: all tools, or with `"search"` three that find, describe and call them. @default 'all' */
  readonly catalogue: CatalogueMode
  /** How changed tool definitions are handled, for servers without their own setting. @default 'warn' */
  readonly definitions: DefinitionPolicy
  /** The limits of one caller. @default {} */
  readonly limits: PrincipalLimits
  /**
   * Rules that deny calls: each has an expression, `if`, and optionally the `reason` that the caller reads, and `dryRun`.
   * @default none
   */
  readonly deny?: readonly CallRule[]
  /** Rules of the same form, one of which must allow each call. @default every call is allowed */
  readonly allow?: readonly CallRule[]
  /**
   * Rules that make a call wait for another person. They have the members of the other rules, `by` (who may approve),
   * and optionally `fourEyes`, `for` and `show`. @default none
   */
  readonly approve?: readonly ApprovalRule[]
  /** Whether rules decide nothing, and are only logged; `--dry-run` does the same. @default false */
  readonly dryRun: boolean
  /**
   * The number of processes at one port, up to 64; `--workers` does the same. It applies at the start only, and not
   * with `--stdio`. @default 1
   */
  readonly workers: number
  /** How long a list request waits for a server before its last known list is served, in milliseconds. @default 2000 */
  readonly listDeadlineMs: number
  /**
   * Where the program serves `/health`, `/servers` and `/metrics`; false for nowhere. `--admin-port` also sets the
   * port. @default {"host":"127.0.0.1","port":8932}
   */
  readonly admin: AdminSettings | false
  /**
   * Authentication by bearer tokens of one issuer; optional are `scopes`, `resource`, `authorizationServers`,
   * `algorithms`, `typ` and `clockToleranceSeconds`. @default all callers are anonymous
   */
  readonly principal?: PrincipalSettings
  /** Host names that the gateway answers to. @default local names when reached by loopback, else any */
  readonly allowedHosts?: readonly string[]
  /** Origins whose pages may call. @default those on `allowedHosts`, else local ones */
  readonly allowedOrigins?: readonly string[]
  /** The keys that seal session ids and states. @default the variable PANNIER_KEYS, else random keys */
  readonly keys?: string
  /**
   * The database in which several gateways look up which of them serves a caller, such as `"${DATABASE_URL}"`;
   * `--postgres URL` does the same. @default none
   */
  readonly postgres?: string
  /**
   * Where calls wait for people, if a person has to approve or answer: a SQLite file, relative to the folder of mcp.json, or
   * `"postgres"` for the gateways' common database. Rules under `approve` need it. @default no call waits for people
   */
  readonly store?: string
  /**
   * The address of the gateway as people reach it, such as `https://mcp.example.com`, for links to the pages of questions.
   * @default where it listens
   */
  readonly publicUrl?: string
  /**
   * Where pinned definitions are kept: a file, relative to the folder of mcp.json, or `"postgres"` for the gateways'
   * common database. @default the file mcp.pins.json beside mcp.json
   */
  readonly pins?: string
  /**
   * With `store`: how people are notified of questions. Each channel has one of `webhook` with a `secret`, `chat`, or `mail` with
   * `from` and `to`. @default nobody is notified
   */
  readonly notify?: readonly NotifySettings[]
  /**
   * Keeps an audit log in a `folder`, relative to that of mcp.json: each call, and each decision of a rule. Optional are
   * `arguments`, `"digest"` or `"full"` ("digest"), and `keepDays` (365). @default none is kept
   */
  readonly audit?: AuditSettings
  /**
   * With `postgres`: how long a silent gateway keeps its callers, and how long a gateway serves them while PostgreSQL
   * is unreachable; at least 2. @default 20
   */
  readonly leaseSeconds: number
}

/** The value of `pins` for those in the database. */
export const PINS_IN_POSTGRES = 'postgres'
/** The value of `store` for calls in the database. */
export const STORE_IN_POSTGRES = 'postgres'

export const GATEWAY_DEFAULTS: GatewaySettings = {
  stateful: 'serve',
  views: {},
  catalogue: 'all',
  definitions: 'warn',
  limits: {},
  dryRun: false,
  workers: 1,
  listDeadlineMs: 2000,
  admin: { host: '127.0.0.1', port: 8932 },
  leaseSeconds: 20,
}

const ADMIN_DEFAULTS: AdminSettings = { host: '127.0.0.1', port: 8932 }

const catalogue: Check<CatalogueMode> = oneOf('all', 'search')

const names = listOf(text((value) => (/^[^:]+:./.test(value) ? undefined : 'must be a name such as "role:sre".')))

const loginMembers = shape<ConsoleLoginSettings>(
  {
    issuer: text(),
    clientId: text(),
    clientSecret: text(),
    scopes: listOf(text()),
    url: address,
    roles: shape<ConsoleLoginSettings['roles']>({ viewer: names, approver: names, operator: names }),
  },
  ['issuer', 'clientId', 'roles'],
)

const login: Check<ConsoleLoginSettings> = (value, place) => {
  const { issuer, clientId, roles, ...more } = loginMembers(value, place) ?? {}
  if (issuer === undefined || clientId === undefined || roles === undefined) return undefined
  const fault = faultOf(() => loginSettings({ issuer, clientId, ...(more.scopes && { scopes: more.scopes }) }))
  return fault === undefined ? { issuer, clientId, roles, ...more } : refuse(place, `cannot be used. ${fault}`)
}

const adminMembers = shape<AdminSettings>({ host: text(), port: whole(0, 65_535), token: text(), login })

const admin: Check<AdminSettings | false> = (value, place) => {
  if (value === false) return false
  const given = adminMembers(value, place)
  const settings = { ...ADMIN_DEFAULTS, ...given }
  const hasToken = isObject(value) && value['token'] !== undefined
  if (given !== undefined && !isLocalHost(settings.host) && !hasToken)
    return refuse(place, 'needs a "token", because its host is not this machine alone.')
  return settings
}

const viewMembers = shape<ViewSettings>({
  tools: patterns,
  deny: patterns,
  rename: recordOf(text(nameFault)),
  descriptions: recordOf(text()),
  catalogue,
})

/** A view without its own mode has that of the gateway, so the mode is filled in last. */
type GivenViews = Readonly<Record<string, Omit<ViewSettings, 'catalogue'> & { readonly catalogue?: CatalogueMode }>>

const viewsOf: Check<GivenViews> = (value, place) => {
  if (!isObject(value)) return refuse(place, 'must be an object.')
  const views = Object.entries(value).map(([name, each]) => {
    const at = within(place, name)
    const fault = routeNameFault(name)
    if (fault !== undefined) refuse(at, fault)
    const given = viewMembers(each, at) ?? {}
    assertDistinct(Object.values(given.rename ?? {}), within(at, 'rename'))
    return [name, { tools: ['*'], deny: [], rename: {}, descriptions: {}, ...given }] as const
  })
  return Object.fromEntries(views)
}

function assertDistinct(names: readonly string[], place: SettingPlace): void {
  if (new Set(names).size < names.length) refuse(place, 'gives two tools the same name.')
}

/** Names that cannot be a segment of `/mcp/NAME`: browsers and proxies resolve `.` and `..`. */
export function routeNameFault(name: string): string | undefined {
  if (!name.isWellFormed()) return 'has a name with half of a character; give it another name.'
  return name === '' || name === '.' || name === '..'
    ? 'cannot be part of an address; give it another name.'
    : undefined
}

const AUDIT_DEFAULTS = { arguments: 'digest', keepDays: 365 } as const

const auditMembers = shape<AuditSettings>(
  { folder: text(), arguments: oneOf('digest', 'full'), keepDays: whole(1, 36_500) },
  ['folder'],
)

const audit: Check<AuditSettings> = (value, place) => {
  const { folder, ...given } = auditMembers(value, place) ?? {}
  return folder === undefined ? undefined : { ...AUDIT_DEFAULTS, ...given, folder }
}

const textOrList: Check<string | readonly string[]> = (value, place) =>
  typeof value === 'string' ? text()(value, place) : listOf(text())(value, place)

const principalMembers = shape<PrincipalSettings>(
  {
    issuer: text(),
    audience: textOrList,
    jwks: address,
    scopes: listOf(text()),
    resource: address,
    authorizationServers: listOf(address),
    algorithms: listOf(text()),
    typ: text(),
    clockToleranceSeconds: whole(0),
  },
  ['issuer', 'audience', 'jwks'],
)

const principal: Check<PrincipalSettings> = (value, place) => {
  const { issuer, audience, jwks, ...more } = principalMembers(value, place) ?? {}
  if (issuer === undefined || audience === undefined || jwks === undefined) return undefined
  const settings = { ...more, issuer, audience, jwks }
  const fault = faultOf(() => bearer(settings))
  return fault === undefined ? settings : refuse(place, `cannot be used. ${fault}`)
}

const keys: Check<string> = text((value) =>
  faultOf(() => createKeyring(value), Error) === undefined
    ? undefined
    : 'must be keys as in PANNIER_KEYS; make one with: pannier keys new',
)

/** The fault of a database address. It contains a password, so it is never quoted. */
export function databaseFault(url: string): string | undefined {
  const isOne = faultOf(() => postgres({ url }), StateError) === undefined
  return isOne ? undefined : 'must be an address such as postgres://USER:PASSWORD@HOST:5432/DATABASE.'
}

/** A shorter lease would expire for a gateway or a database that is only busy. */
const LEAST_LEASE_SECONDS = 2

const leaseSeconds: Check<number> = secondsFrom(LEAST_LEASE_SECONDS)

function guarded(option: 'allowedHosts' | 'allowedOrigins', what: string): Check<readonly string[]> {
  const fault = (value: string): string | undefined =>
    faultOf(() => createHostGuard({ [option]: [value] })) === undefined ? undefined : `must be ${what}.`
  return listOf(text(fault))
}

const checks: MemberChecks<Omit<GatewaySettings, 'views'> & { readonly views: GivenViews }> = {
  stateful: oneOf('serve', 'reject'),
  views: viewsOf,
  catalogue,
  definitions: definitionPolicy,
  limits: shape<PrincipalLimits>({
    requestsPerMinute: whole(1),
    callsAtOnce: whole(1),
    clientAddressHeader: text(headerNameFault),
  }),
  deny: callRules,
  allow: callRules,
  approve: approvalRules,
  dryRun: flag,
  workers: whole(1, 64),
  listDeadlineMs: whole(1, 600_000),
  admin,
  principal,
  allowedHosts: guarded('allowedHosts', 'a host name'),
  allowedOrigins: guarded('allowedOrigins', 'an origin such as https://app.example.com'),
  keys,
  postgres: text(databaseFault),
  store: text(),
  publicUrl: address,
  pins: text(),
  audit,
  notify,
  leaseSeconds,
}

const members = shape(checks)

export const GATEWAY_SETTINGS: readonly string[] = Object.keys(checks)

export function gatewaySettings(value: unknown, place: SettingPlace): GatewaySettings {
  const { views = {}, ...given } = value === undefined ? {} : (members(value, place) ?? {})
  const settings = { ...GATEWAY_DEFAULTS, ...given }
  const filled = Object.entries(views).map(([name, view]) => [name, { catalogue: settings.catalogue, ...view }])
  return { ...settings, views: Object.fromEntries(filled) as GatewaySettings['views'] }
}
