/**
 * Reads an mcp.json file as the configuration of a gateway. All its errors are reported at once. A server with missing
 * variables is reported apart: only that server cannot be served.
 */
import { type Address, ClientError, type HttpAddress } from '../../client/index.ts'
import {
  type EntryProblem,
  entryPlace,
  type Env,
  type FieldPath,
  httpUrlFault,
  readAddress,
  readConfigFile,
  urlFieldOf,
  type Variables,
} from '../../client/internal.ts'
import { isObject, isOneTypo, type Json } from '../../protocol/index.ts'
import { PrefixIndex, type NamedServer } from '../catalog/names.ts'
import type { DefinitionPolicy } from '../catalog/pins.ts'
import { BACKEND_SETTINGS, type BackendSettings, backendSettings } from './backendSettings.ts'
import { flag } from './checks.ts'
import { unreadAtTop, unreadVariables, doubtsInEntry, doubtsInViews, unreadInEntry } from './doubtful.ts'
import { GATEWAY_SETTINGS, type GatewaySettings, gatewaySettings, routeNameFault } from './gatewaySettings.ts'
import { forwardFault, headerFault, isTransportHeader, isPrincipalVariable, referenceFault } from './callerValues.ts'
import {
  type ConfigProblem,
  type ConfigSource,
  GatewayConfigError,
  keyText,
  problemAt,
  type SourceEntry,
  sourceOfText,
  sourceOfValue,
} from './source.ts'

/** A server behind the gateway. */
export interface BackendConfig {
  readonly name: string
  readonly address: Address
  readonly settings: BackendSettings
  /**
   * The values of variables in the entry of a program. They may be secret, so they are masked in the log. @default none
   */
  readonly variableValues?: readonly string[]
}

/** A server that cannot be served here, because a variable or a file that it needs is missing. */
export interface UnusableBackend {
  readonly name: string
  readonly prefix?: string | false
  readonly problems: readonly ConfigProblem[]
}

/** The configuration of a gateway, as read from a file. */
export interface GatewayConfig {
  /** The file that was read; undefined for an object. */
  readonly file?: string
  /** In the order of the file, including disabled ones. */
  readonly servers: readonly BackendConfig[]
  /** Servers that cannot be served, with the reason. */
  readonly unusable: readonly UnusableBackend[]
  /** The settings under `"gateway"`, with defaults. */
  readonly settings: GatewaySettings
  /** Members in a place where they are not read, most likely by mistake. @default none */
  readonly warnings?: readonly ConfigProblem[]
}

/** Reads an mcp.json file as the configuration of a gateway; variables come from `env`. */
export async function readGatewayConfig(file: string, env: Env = process.env): Promise<GatewayConfig> {
  const text = await readConfigFile(file)
  const config = await configOf(sourceOfText(text, file), entryPlace(file, env))
  const unread = unreadVariables(env, text).map(({ path, sentence }): ConfigProblem => {
    return { key: keyText(path), code: 'CONFIG_INVALID', sentence }
  })
  return unread.length === 0 ? config : { ...config, warnings: [...(config.warnings ?? []), ...unread] }
}

/** The same for an object in the form of the file. Relative paths start from `folder`. */
export async function gatewayConfigOf(
  value: unknown,
  { env = process.env, folder = process.cwd() }: { readonly env?: Env; readonly folder?: string } = {},
): Promise<GatewayConfig> {
  return configOf(sourceOfValue(value), entryPlace(`${folder}/mcp.json`, env))
}

/** All servers that determine the prefixes, including unavailable ones. */
export function namedServers({ servers, unusable }: GatewayConfig): readonly NamedServer[] {
  return [
    ...servers.map(({ name, settings }) => namedServer(name, settings)),
    ...unusable.map((server) => namedServer(server.name, server)),
  ]
}

function namedServer(name: string, { prefix }: Pick<BackendSettings, 'prefix'>): NamedServer {
  return { name, ...(prefix !== undefined && { prefix }) }
}

interface ReadPlace {
  readonly project: string
  readonly variables: Variables
}

async function configOf(source: ConfigSource, place: ReadPlace): Promise<GatewayConfig> {
  const faults: ConfigProblem[] = []
  const reportTo =
    (problems: ConfigProblem[], base: FieldPath = []) =>
    (problem: EntryProblem): void =>
      void problems.push(problemAt(source, [...base, ...problem.path], problem))
  const report = reportTo(faults)
  const invalid = (path: FieldPath, sentence: string): void => report({ path, code: 'CONFIG_INVALID', sentence })

  if (source.servers === undefined) throw noServers(source)
  for (const name of Object.keys(source.root)) if (isOneTypo(name, 'gateway')) invalid([name], misspelt('gateway'))
  for (const path of source.repeated) invalid(path, 'stands there twice; leave one of them out.')
  const top = { path: ['gateway'], variables: place.variables, report, elsewhere: notOfGateway }
  const settings = gatewaySettings(source.gateway, top)
  const read: ReadEntry[] = []
  for (const entry of source.servers) {
    const problems: ConfigProblem[] = []
    const backend = await readBackend(entry, { ...place, report: reportTo(problems, entry.path) }, settings.definitions)
    read.push({ backend, problems, path: entry.path })
  }
  checkNames(read, invalid)
  const warnings: ConfigProblem[] = []
  const warn = reportTo(warnings)
  const knowsCallers = isObject(source.gateway) && source.gateway['principal'] !== undefined
  for (const { path, entry } of source.servers)
    for (const each of [...unreadInEntry(entry), ...doubtsInEntry(entry, knowsCallers)])
      warn({ code: 'CONFIG_INVALID', path: [...path, ...each.path], sentence: each.sentence })
  const named = read.map(({ backend }) => namedServer(backend.name, backend.settings))
  for (const each of [...unreadAtTop(source.root), ...doubtsInViews(settings.views, named)])
    warn({ code: 'CONFIG_INVALID', ...each })
  const problems = [...read.flatMap((each) => each.problems), ...faults]
  if (faults.length > 0 || problems.some(({ code }) => code === 'CONFIG_INVALID'))
    throw new GatewayConfigError(inOrder([...problems, ...warnings]))
  return {
    ...(source.file !== undefined && { file: source.file }),
    servers: read.filter((each) => each.problems.length === 0).map(({ backend }) => backend),
    unusable: read
      .filter((each) => each.problems.length > 0)
      .map(({ backend, problems: own }) => ({ ...namedServer(backend.name, backend.settings), problems: own })),
    settings,
    ...(warnings.length > 0 && { warnings: inOrder(warnings) }),
  }
}

function inOrder(problems: readonly ConfigProblem[]): readonly ConfigProblem[] {
  return problems.toSorted((a, b) => (a.line ?? 0) - (b.line ?? 0))
}

interface ReadEntry {
  readonly backend: BackendConfig
  readonly problems: readonly ConfigProblem[]
  readonly path: FieldPath
}

function noServers({ file = 'The configuration', root }: ConfigSource): ClientError {
  const unread = unreadAtTop(root).map(({ path, sentence }) => ` "${path.join('.')}" ${sentence}`)
  const lists = ['mcpServers', 'servers'].filter((name) => Array.isArray(root[name]))
  const listed = lists.map((name) => ` "${name}" is a list; write an object with a name for each server.`)
  const sentence = `${file} has no servers: neither "mcpServers" nor "servers" is an object.`
  return new ClientError('CONFIG_INVALID', [sentence, ...listed, ...unread].join(''))
}

interface EntryPlace extends ReadPlace {
  readonly report: (problem: EntryProblem) => void
}

async function readBackend(
  { name, entry }: SourceEntry,
  { project, variables, report }: EntryPlace,
  definitions: DefinitionPolicy,
): Promise<BackendConfig> {
  const fields = isObject(entry) ? entry : {}
  const own = isObject(fields['pannier']) ? fields['pannier'] : {}
  const disabled = fields['disabled'] === true || isOff(own['disabled'], variables)
  // Variables of a disabled server are not expanded: it needs no values.
  const values = new Set<string>()
  const onValue = (value: string): void => void values.add(value)
  const known: Variables = { ...variables, onValue, ...(disabled && { stays: () => true }) }
  const callerVariables: Variables = { ...known, stays: (each) => disabled || isPrincipalVariable(each) }
  const address = await readAddress(entry, { project, variables: known, callerVariables, report })
  if (!disabled) checkAddress(address, fields, report)
  const place = { path: ['pannier'], variables: known, report, elsewhere: notOfServer }
  const settings = backendSettings(fields['pannier'], place, definitions)
  for (const name of Object.keys(fields))
    if (isOneTypo(name, 'pannier')) report({ path: [name], code: 'CONFIG_INVALID', sentence: misspelt('pannier') })
  if (settings.urls.length > 0 && !takesReplicas(address))
    report({ path: ['pannier', 'urls'], code: 'CONFIG_INVALID', sentence: REPLICAS })
  if (settings.forwardAuthorization && !disabled) {
    const sentence = forwardFault(address)
    if (sentence !== undefined)
      report({ path: [...place.path, 'forwardAuthorization'], code: 'CONFIG_INVALID', sentence })
  }
  if ('openapi' in address && !disabled) reportApi(address, report)
  // Its server keeps nothing between calls: it only passes them on.
  const ownState = 'openapi' in address && { state: 'stateless' as const }
  const variableValues = 'command' in address && values.size > 0 ? [...values] : undefined
  return { name, address, settings: { ...settings, ...ownState, disabled }, ...(variableValues && { variableValues }) }
}

/** Whether a server is left out. A fault of the setting is reported with the others. */
function isOff(disabled: unknown, variables: Variables): boolean {
  return flag(disabled, { path: [], variables, report: () => {} }) === true
}

/** Names the right place of a setting that the gateway does not have, if there is one. */
function notOfGateway(name: string): string | undefined {
  if (BACKEND_SETTINGS.includes(name)) return 'is a setting of a server, which stands under "pannier" in its entry.'
  return PROGRAM_OPTIONS.has(name) ? `is an option of the program: pannier gateway --${name}.` : undefined
}

const PROGRAM_OPTIONS: ReadonlySet<string> = new Set(['port', 'host', 'insecure', 'stdio', 'watch'])

/** Names the right place of a setting that a server does not have, if there is one. */
function notOfServer(name: string): string | undefined {
  return GATEWAY_SETTINGS.includes(name)
    ? 'is a setting of the gateway, which stands under "gateway" at the top.'
    : undefined
}

function misspelt(known: string): string {
  return `is not read; did you mean "${known}"?`
}

const REPLICAS = 'are for a server that has a "url", and is neither of the transport "sse" nor an OpenAPI document.'

function takesReplicas(address: Address): boolean {
  return 'url' in address && address.transport !== 'sse' && address.openapi === undefined
}

/** The address of a document follows the rules for that of a server, and these headers belong to each request. */
function reportApi({ openapi = '', headers = {} }: HttpAddress, report: (problem: EntryProblem) => void): void {
  const fault = /^https?:/i.test(openapi) ? httpUrlFault(openapi) : undefined
  if (fault !== undefined) report({ path: ['openapi'], code: 'CONFIG_INVALID', sentence: fault })
  for (const name of Object.keys(headers))
    if (isTransportHeader(name)) report({ path: ['headers', name], code: 'CONFIG_INVALID', sentence: OWN_HEADER })
}

const OWN_HEADER = 'is set by the gateway, as the document says; leave it out.'

/** The checks that `readAddress` leaves to its users. */
function checkAddress(address: Address, fields: Json, report: (problem: EntryProblem) => void): void {
  if ('command' in address) {
    for (const [name, value] of Object.entries(address.env ?? {})) {
      const sentence = referenceFault(value)
      if (sentence !== undefined) report({ path: ['env', name], code: 'CONFIG_INVALID', sentence })
    }
    return
  }
  const fault = address.url === '' ? undefined : httpUrlFault(address.url)
  if (fault !== undefined) report({ path: [urlFieldOf(fields) ?? 'url'], code: 'CONFIG_INVALID', sentence: fault })
  for (const [name, value] of Object.entries(address.headers ?? {})) {
    const sentence = headerFault(name, value)
    if (sentence !== undefined) report({ path: ['headers', name], code: 'CONFIG_INVALID', sentence })
  }
}

/** Checks that servers do not share names, addresses or prefixes. */
function checkNames(read: readonly ReadEntry[], invalid: (path: FieldPath, sentence: string) => void): void {
  const named = new Map<string, FieldPath>()
  const prefixed = new PrefixIndex<FieldPath>()
  let hasBare = false
  for (const { backend, path } of read) {
    const fault = routeNameFault(backend.name)
    if (fault !== undefined) invalid(path, fault)
    const same = named.get(backend.name)
    if (same === undefined) named.set(backend.name, path)
    else invalid(path, `has the name of ${keyText(same)}; give it another one.`)
    const { prefix } = backend.settings
    if (prefix === undefined) continue
    const place = [...path, 'pannier', 'prefix']
    if (prefix === false) {
      if (hasBare) invalid(place, ONE_BARE)
      hasBare = true
      continue
    }
    const other = prefixed.clashing(prefix)
    if (other !== undefined) invalid(place, `cannot be distinguished from that of ${keyText(other)}.`)
    prefixed.add(prefix, path)
  }
}

const ONE_BARE = 'must not be false, because another server has no prefix already.'
