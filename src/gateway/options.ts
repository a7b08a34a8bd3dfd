/** The options of a gateway, and the server options that all its routes share. */
import { isIP } from 'node:net'
import { assertOptionNames, type HeaderReader, type Json, type OptionNames } from '../protocol/index.ts'
import { bearer, type LimitOptions, type ListenOptions, type ServerOptions } from '../server/index.ts'
import { isLocalHost, type Logger, type LoggerSlot } from '../server/internal.ts'
import type { PostgresConnection } from '../postgres/internal.ts'
import { memoryRates } from '../state/stores/index.ts'
import type { CredentialsHook } from './backends/credentials.ts'
import type { AuthorizerHook } from './backends/login.ts'
import type { GatewayConfig, GatewaySettings } from './config/index.ts'
import type { GatewayDatabase } from './database.ts'
import { GATEWAY_INFO } from './version.ts'

export interface GatewayOptions
  extends GatewayConfig,
    Pick<ServerOptions, 'logger' | 'principal' | 'keys' | 'bus' | 'ledger' | 'store'> {
  /** Looks up the credentials of a caller for a server, beside those in its entry. @default none */
  readonly credentials?: CredentialsHook
  /** The database that gateways share: leases of callers, events, and rate limits. @default that of the settings */
  readonly postgres?: PostgresConnection
  /** Looks up the operator's login at a server, which all callers share. @default none */
  readonly authorizer?: AuthorizerHook
  /**
   * The name by which the gateway detects its own requests in a loop. The workers of one gateway share it. @default a
   * random one
   */
  readonly id?: string
  /** The counters for the limits of the settings. @default the memory of this process */
  readonly counters?: LimitCounters
  /** The other workers of this gateway. @default none */
  readonly workers?: WorkerSiblings
}

const GATEWAY_OPTIONS: OptionNames<GatewayOptions> = {
  file: true,
  servers: true,
  unusable: true,
  settings: true,
  warnings: true,
  logger: true,
  principal: true,
  keys: true,
  bus: true,
  ledger: true,
  store: true,
  credentials: true,
  postgres: true,
  authorizer: true,
  id: true,
  counters: true,
  workers: true,
}

/** Checks that the options come from a reader of configurations: the raw file has another form. */
export function assertGatewayOptions(options: GatewayOptions): void {
  if (Array.isArray(options?.servers) && typeof options.settings === 'object')
    return assertOptionNames(options, GATEWAY_OPTIONS, 'createGateway')
  throw new TypeError(
    'createGateway needs what readGatewayConfig("mcp.json") or gatewayConfigOf({ mcpServers: … }) gives: createGateway({ ...config }).',
  )
}

export interface GatewayListenOptions extends Pick<ListenOptions, 'host' | 'port' | 'advertise' | 'drainOnTerm'> {
  /** Whether callers on other machines need no authentication. @default false */
  insecure?: boolean
}

const LISTEN_OPTIONS: OptionNames<GatewayListenOptions> = {
  host: true,
  port: true,
  advertise: true,
  drainOnTerm: true,
  insecure: true,
}

export interface GatewayReport {
  readonly health: Json
  readonly servers: readonly Json[]
}

export interface WorkerSiblings {
  /** The number of workers, including this one. */
  readonly count: number
  /** Logs a warning about the setup, once for all workers. */
  readonly warn: (sentence: string) => void
}

export type LimitCounters = Pick<LimitOptions, 'store' | 'calls'>

const HOUR_SECONDS = 3600

/** The parts of a gateway that its routes share. */
interface GatewayParts {
  /** The current limits: a reload may change them. */
  readonly limits: () => GatewaySettings['limits']
  readonly database: GatewayDatabase | undefined
}

export function serverOptions(options: GatewayOptions, logger: LoggerSlot, shared: GatewayParts): ServerOptions {
  const { database } = shared
  const { keys = options.settings.keys, bus, ledger = database?.ledger, store = database?.store, counters } = options
  const principal = principalOf(options)
  return {
    ...GATEWAY_INFO,
    // States outlive parked calls by an hour, so that a late answer gets the error of an expired call.
    ttlSeconds: Math.max(...options.servers.map(({ settings: { parkSeconds } }) => parkSeconds), 0) + HOUR_SECONDS,
    logger: passing(logger),
    // Results are limited by the entries of their servers instead.
    maxResultBytes: Number.MAX_SAFE_INTEGER,
    ...(principal && { principal }),
    // One count for all routes, and with a database for all gateways.
    limits: {
      clientAddress: ({ header }) => addressIn(header, shared.limits().clientAddressHeader),
      store: memoryRates(),
      ...counters,
      ...(database && { store: database.rates }),
    },
    ...(keys !== undefined && { keys }),
    ...(bus && { bus }),
    ...(ledger && { ledger }),
    ...(store && { store }),
  }
}

/** Undefined if all callers are anonymous. */
export function principalOf({ principal, settings }: GatewayOptions): ServerOptions['principal'] {
  return principal ?? (settings.principal && bearer(settings.principal))
}

/** Throws if anyone who reaches this address could call, and no option allows that. */
export function assertMayListen(at: GatewayListenOptions, options: GatewayOptions): void {
  assertOptionNames(at, LISTEN_OPTIONS, 'listen')
  const { host = '127.0.0.1', insecure = false } = at
  if (!insecure && !isLocalHost(host) && principalOf(options) === undefined) throw new TypeError(NO_AUTHENTICATION)
}

const NO_AUTHENTICATION =
  'Anyone who reaches this address could use every server behind the gateway. Say who may, with "principal" under "gateway" in the file; or serve everyone with "insecure" (--insecure).'

/** The hosts and origins whose requests are answered. */
export function guardsOf({
  allowedHosts,
  allowedOrigins,
}: GatewaySettings): Pick<ServerOptions, 'allowedHosts' | 'allowedOrigins'> {
  return {
    ...(allowedHosts && { allowedHosts: [...allowedHosts] }),
    ...(allowedOrigins && { allowedOrigins: [...allowedOrigins] }),
  }
}

/**
 * The client's address: the last one in the header, which the proxy wrote. The client may have written those before it.
 */
function addressIn(header: HeaderReader, name: string | undefined): string | undefined {
  const value = name === undefined ? undefined : header(name.toLowerCase())
  const address = value?.split(',').at(-1)?.trim() ?? ''
  return isIP(address) === 0 ? undefined : address
}

/** A logger that delegates to the slot, also after its default is set. */
function passing(slot: LoggerSlot): Logger {
  return {
    debug: (details, message) => slot.current.debug(details, message),
    info: (details, message) => slot.current.info(details, message),
    warn: (details, message) => slot.current.warn(details, message),
    error: (details, message) => slot.current.error(details, message),
  }
}
