import { isDeepStrictEqual } from 'node:util'
import type { GatewaySettings } from './gatewaySettings.ts'
import type { BackendConfig, GatewayConfig } from './read.ts'

/** The changes of a reload. The lists are in the order of the new file; `removed` is in that of the old one. */
export interface ConfigDifference {
  readonly added: readonly BackendConfig[]
  readonly removed: readonly BackendConfig[]
  readonly changed: readonly { readonly before: BackendConfig; readonly after: BackendConfig }[]
  /** Equal in address and settings: they keep their processes, connections and calls. */
  readonly same: readonly BackendConfig[]
}

type Configured = Pick<GatewayConfig, 'servers'>

export function difference(before: Configured, after: Configured): ConfigDifference {
  const old = new Map(before.servers.map((server) => [server.name, server]))
  const names = new Set(after.servers.map(({ name }) => name))
  const known = after.servers.flatMap((server) => {
    const previous = old.get(server.name)
    return previous === undefined ? [] : [{ before: previous, after: server }]
  })
  const isSame = (pair: { before: BackendConfig; after: BackendConfig }): boolean =>
    isDeepStrictEqual(pair.before, pair.after)
  return {
    added: after.servers.filter(({ name }) => !old.has(name)),
    removed: before.servers.filter(({ name }) => !names.has(name)),
    changed: known.filter((pair) => !isSame(pair)),
    same: known.filter(isSame).map((pair) => pair.before),
  }
}

/** The settings that a reload applies; the others apply from the next start. */
const RELOADED: ReadonlySet<string> = new Set([
  'stateful',
  'views',
  'catalogue',
  'definitions',
  'limits',
  'deny',
  'allow',
  'approve',
  'dryRun',
])

/** The names of settings that differ and apply only from the next start. */
export function restartSettings(before: GatewaySettings, after: GatewaySettings): readonly string[] {
  return differing(before, after).filter((name) => !RELOADED.has(name))
}

/** The names of settings that differ and that a reload applies. */
export function reloadedSettings(before: GatewaySettings, after: GatewaySettings): readonly string[] {
  return differing(before, after).filter((name) => RELOADED.has(name))
}

function differing(before: GatewaySettings, after: GatewaySettings): readonly string[] {
  const old = new Map<string, unknown>(Object.entries(before))
  const now = new Map<string, unknown>(Object.entries(after))
  const names = [...new Set([...old.keys(), ...now.keys()])]
  return names.filter((name) => !isDeepStrictEqual(old.get(name), now.get(name)))
}
