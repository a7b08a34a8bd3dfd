/** The configuration of a gateway as text for a terminal. */
import { isDeepStrictEqual } from 'node:util'
import { type Address, nameOf, plainLine } from '../../client/index.ts'
import { createNames, SEPARATOR } from '../../gateway/catalog/index.ts'
import {
  BACKEND_DEFAULTS,
  type BackendConfig,
  difference,
  GATEWAY_DEFAULTS,
  type GatewayConfig,
  namedServers,
  reloadedSettings,
  type UsualPlace,
} from '../../gateway/config/index.ts'
import { isObject } from '../../protocol/index.ts'
import { alignColumns } from './layout.ts'

/** A line for each server, and a line for the settings that differ from the gateway's defaults. */
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

/** Undefined if a file has servers. */
export function noServersText(file: string, { servers, unusable }: GatewayConfig): string | undefined {
  return servers.length + unusable.length === 0 ? `${file} has no servers: clients get empty lists.` : undefined
}

function transportOf({ address, settings }: BackendConfig): string {
  return settings.disabled ? 'disabled' : kindOf(address)
}

function kindOf(address: Address): string {
  if ('openapi' in address) return 'openapi'
  return 'command' in address ? 'stdio' : (address.transport ?? 'http')
}

/** The prefix has its own column. */
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

/** The changes of a file that was read again: `1 added (mail), 3 unchanged (crm, files, tickets).` */
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
  const settings = reloadedSettings(before.settings, after.settings).map((name) => `gateway.${name}`)
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
