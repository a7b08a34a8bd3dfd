/** The configuration of a gateway as text for a terminal. */
import { isDeepStrictEqual } from 'node:util'
import { type Address, nameOf, plainLine, plainText } from '../../client/index.ts'
import { createNames, type OfferedTool, SEPARATOR } from '../../gateway/catalog/index.ts'
import {
  acceptCommand,
  BACKEND_DEFAULTS,
  type BackendConfig,
  difference,
  GATEWAY_DEFAULTS,
  type GatewayConfig,
  namedServers,
  problemText,
  settingsSetAnew,
  type UsualPlace,
} from '../../gateway/config/index.ts'
import type { Gateway } from '../../gateway/index.ts'
import { cellsText } from '../../probe/internal.ts'
import { isObject } from '../../protocol/index.ts'
import { alignColumns } from './layout.ts'

/** A line for each server, and one for what differs from the defaults of the gateway. */
export function gatewayConfigText(config: GatewayConfig, width = Infinity): string {
  const names = createNames(namedServers(config))
  const namesOf = (server: string): string => {
    const prefix = names.prefix(server)
    return prefix === undefined ? 'as they are' : `${prefix}${SEPARATOR}…`
  }
  const rows = [
    ...config.servers.map((server) => [
      plainLine(server.name, 40),
      transportOf(server),
      plainLine(nameOf(server.address), 60),
      server.settings.disabled ? '' : namesOf(server.name),
      settingsOf(server, config),
    ]),
    ...config.unusable.map(({ name }) => [plainLine(name, 40), 'not usable', '', namesOf(name), '']),
  ]
  const own = differing(config.settings, GATEWAY_DEFAULTS)
  return [
    alignColumns([['SERVER', 'TRANSPORT', 'ADDRESS', 'NAMES', 'SETTINGS'], ...rows], width),
    ...(own === '' ? [] : ['', `gateway: ${own}`]),
  ].join('\n')
}

/** Undefined where a file has servers. */
export function noServersText(file: string, { servers, unusable }: GatewayConfig): string | undefined {
  return servers.length + unusable.length === 0 ? `${file} has no servers: clients get empty lists.` : undefined
}

function transportOf({ address, settings }: BackendConfig): string {
  return settings.disabled ? 'disabled' : kindOf(address)
}

function kindOf(address: Address): string {
  return 'command' in address ? 'stdio' : (address.transport ?? 'http')
}

/** The prefix has a column of its own. */
function settingsOf({ settings }: BackendConfig, config: GatewayConfig): string {
  const { prefix: _, disabled: __, ...shown } = settings
  return differing(shown, { ...BACKEND_DEFAULTS, definitions: config.settings.definitions })
}

/** `state: stateful, tools.deny: delete_*`. */
function differing(settings: object, defaults: object, path = ''): string {
  const usual = new Map<string, unknown>(Object.entries(defaults))
  return Object.entries(settings)
    .filter(([name, value]) => !isDeepStrictEqual(value, usual.get(name)))
    .map(([name, value]: [string, unknown]) => settingText(`${path}${name}`, value, usual.get(name)))
    .filter((text) => text !== '')
    .join(', ')
}

function settingText(name: string, value: unknown, usual: unknown): string {
  if (SECRET.test(name)) return `${name}: set`
  if (name === 'views' && isObject(value)) return `views: ${Object.keys(value).map(plainName).join(' ')}`
  if (isObject(value)) return differing(value, isObject(usual) ? usual : {}, `${name}.`)
  return `${name}: ${Array.isArray(value) ? value.map(plainName).join(' ') : plainName(value)}`
}

const SECRET = /(?:^|\.)(?:token|keys|postgres)$/

function plainName(value: unknown): string {
  return plainLine(String(value), 60)
}

/** How many names of a kind are shown. */
const SHOWN_NAMES = 5

/** What a file changes that was read again: `1 added (mail), 3 unchanged (crm, files, tickets).` */
export function changesText(before: GatewayConfig, after: GatewayConfig): string {
  const { added, removed, changed, same } = difference(before, after)
  const kinds = [
    countedNames(added, 'added'),
    countedNames(removed, 'removed'),
    countedNames(
      changed.map((pair) => pair.after),
      'changed',
    ),
    countedNames(same, 'unchanged'),
  ]
  const servers = kinds.filter((text) => text !== '').join(', ')
  const settings = settingsSetAnew(before.settings, after.settings).map((name) => `gateway.${name}`)
  const changes = settings.length === 0 ? [] : [`${settings.join(', ')} changed`]
  return `${[servers === '' ? 'no servers before and after' : servers, ...changes].join('; ')}.`
}

function countedNames(servers: readonly { readonly name: string }[], what: string): string {
  if (servers.length === 0) return ''
  const names = servers.slice(0, SHOWN_NAMES).map(({ name }) => plainLine(name, 40))
  const more = servers.length > SHOWN_NAMES ? ` and ${servers.length - SHOWN_NAMES} more` : ''
  return `${servers.length} ${what} (${names.join(', ')}${more})`
}

/** The files that could be served, with the command for each. */
export function usualPlacesText(places: readonly UsualPlace[]): string {
  if (places.length === 0)
    return 'Name the mcp.json file whose servers you want to serve. None was found in the usual places.'
  const rows = places.map(({ program, servers, command }) => {
    const count = typeof servers === 'number' ? String(servers) : 'unreadable'
    return [program, count, plainLine(command, 500)]
  })
  const table = alignColumns([['FILE OF', 'SERVERS', 'SERVE THEM WITH'], ...rows])
  return `Name the file whose servers you want to serve. Nothing was started.\n\n${table}`
}

type ServedBackend = Gateway['backends'][number]

const SERVED_HEAD = ['SERVER', 'TRANSPORT', 'REVISION', 'STATE', 'TOOLS', 'CLIENTS', 'SERVED BY']

/** A line for each server behind a gateway that runs: what it is, for whom, and how it is served. */
export function servedText(gateway: Pick<Gateway, 'backends' | 'leftOut' | 'cellsOf'>, width = Infinity): string {
  const { backends, leftOut } = gateway
  const rows = backends.map((backend) => rowOf(backend, gateway.cellsOf(backend)))
  return alignColumns([SERVED_HEAD, ...rows, ...leftOut.map(leftOutRow)], width)
}

/** The servers whose state for a caller is lost with the gateway, or the worker, that has it. */
export function lostText(gateway: Pick<Gateway, 'backends' | 'cellsOf'>): readonly string[] {
  // In the session era every limit of this kind is such a loss.
  const lost = gateway.backends.filter((backend) => {
    const [, session] = gateway.cellsOf(backend) ?? []
    return session?.limits.some(({ kind }) => kind === 'memory')
  })
  if (lost.length === 0) return []
  const names = lost.map(({ name }) => plainLine(name, 40)).join(', ')
  // The id of a session can be kept in a database; a process cannot.
  const advice = lost.some(({ config }) => kindOf(config.address) === 'http') ? ' (see --postgres)' : ''
  return [`What a caller has at ${names} is lost with the process of the gateway that has it${advice}.`]
}

/** How to see the tools that are withheld. It is a line of its own, because a column would break the command. */
export function withheldText({ backends, file }: Pick<Gateway, 'backends' | 'file'>): readonly string[] {
  const count = backends.reduce((sum, { lists }) => sum + lists.withheld.size, 0)
  if (count === 0) return []
  const what = count === 1 ? '1 tool is withheld' : `${count} tools are withheld`
  return [`${what}. See what changed with: ${acceptCommand(file)}`]
}

function leftOutRow({ name, problems }: Gateway['leftOut'][number]): readonly string[] {
  const why = problems.map(problemText).join(' ')
  return [plainLine(name, 40), '', '', '', '', '', `left out: ${plainLine(why, 200)}`]
}

/** `/mcp: 214 tools, found through 3. A model reads 2,311 bytes instead of 98,412.` */
export function catalogueText({ path, tools, saved }: Gateway['catalogues'][number]): string {
  const start = `${path}: ${counted(tools)} ${tools === 1 ? 'tool' : 'tools'}`
  if (saved === undefined) return `${start}.`
  const { before, after } = saved
  return `${start}, found through 3. A model reads ${counted(after)} bytes instead of ${counted(before)}.`
}

function counted(count: number): string {
  return count.toLocaleString('en-US')
}

function rowOf(backend: ServedBackend, cells: ReturnType<Gateway['cellsOf']>): readonly string[] {
  const { name, config, lists } = backend
  const { about, condition } = backend.connector
  const first = [plainLine(name, 40), kindOf(config.address)]
  if (condition.kind === 'down')
    return [
      ...first,
      '',
      '',
      '',
      '',
      `not there: ${plainLine([condition.why, condition.advice].join(' ').trim(), 300)}`,
    ]
  if (condition.kind === 'starting') return [...first, '', '', '', '', 'starting; it is there as soon as it is up']
  return [
    ...first,
    plainLine(about?.version ?? '', 20),
    stateOf(backend),
    String(lists.served().tools.length),
    cells === undefined ? '' : cellsText(cells),
    servingOf(backend) + withheldPart(backend),
  ]
}

function withheldPart({
  lists: {
    withheld: { size },
  },
}: ServedBackend): string {
  return size === 0 ? '' : `; withheld: ${size} ${size === 1 ? 'tool' : 'tools'}`
}

function stateOf({ config, prober: { verdict } }: ServedBackend): string {
  const { state } = config.settings
  if (state !== 'auto') return `${state} (declared)`
  if (verdict === undefined) return 'not known yet'
  return `${verdict.state.toLowerCase()} (${Math.round(verdict.confidence * 100)} %)`
}

function servingOf({ config, connector, isShared, prober: { verdict } }: ServedBackend): string {
  const { about, startedInMs } = connector
  const isProcess = 'command' in config.address
  const start = startedInMs === undefined ? '' : `, ${(startedInMs / 1000).toFixed(1)} s to start`
  if (!isShared)
    return (isProcess ? `a process for each caller${start}` : 'a session for each caller') + guessText(verdict)
  if (about?.version === '2026-07-28') return isProcess ? 'one process' : 'a request each'
  return isProcess ? 'shared processes' : 'a shared connection'
}

/** Why a server that is most likely stateless is not shared. */
function guessText(verdict: ServedBackend['prober']['verdict']): string {
  return verdict?.state === 'STATELESS' ? '; "state": "stateless" shares one, and saves that' : ''
}

/** Tools with new or changed definitions, by the names under which the gateway lists them. */
export function offeredText(offered: readonly OfferedTool[], nameOfTool: (tool: OfferedTool) => string): string {
  if (offered.length === 0) return 'No tool is withheld.'
  const table = alignColumns([
    ['TOOL', 'SERVER', 'WHAT CHANGED'],
    ...offered.map((each) => [
      plainLine(nameOfTool(each), 64),
      plainLine(each.server, 40),
      plainLine(each.change, 500),
    ]),
  ])
  return [table, ...offered.flatMap((each) => newsText(each, plainLine(nameOfTool(each), 64)))].join('\n\n')
}

/** What the changed parts of a definition say now, whole, so that nothing is accepted unread. */
function newsText({ news = {} }: OfferedTool, name: string): readonly string[] {
  return Object.entries(news).map(([part, text]) => {
    const lines = plainText(text).split('\n')
    return `${name}, ${plainLine(part, 100)} is now:\n${lines.map((line) => `  ${line}`).join('\n')}`
  })
}
