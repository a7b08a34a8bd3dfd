/**
 * Modules of Node, loaded where they are used. With imports they would be in every bundle of `pannier/client`, and browsers
 * have none of them.
 */
interface NodeModules {
  readonly 'node:child_process': typeof import('node:child_process')
  readonly 'node:crypto': typeof import('node:crypto')
  readonly 'node:diagnostics_channel': typeof import('node:diagnostics_channel')
  readonly 'node:events': typeof import('node:events')
  readonly 'node:fs': typeof import('node:fs')
  readonly 'node:fs/promises': typeof import('node:fs/promises')
  readonly 'node:net': typeof import('node:net')
  readonly 'node:os': typeof import('node:os')
  readonly 'node:path': typeof import('node:path')
  readonly 'node:sqlite': typeof import('node:sqlite')
  readonly 'node:stream': typeof import('node:stream')
  readonly 'node:url': typeof import('node:url')
  readonly 'node:util': typeof import('node:util')
  readonly 'node:vm': typeof import('node:vm')
}

/** The process. A browser has none. */
export const { process: host } = globalThis as { readonly process?: Partial<NodeJS.Process> }

const loaded: { -readonly [Id in keyof NodeModules]?: NodeModules[Id] } = {}

/** A module of Node, or undefined where the runtime does not have it. */
export function findNodeModule<Id extends keyof NodeModules>(id: Id): NodeModules[Id] | undefined {
  loaded[id] ??= host?.getBuiltinModule?.(id) as (typeof loaded)[Id]
  return loaded[id]
}

/** A module of Node. Throws where the runtime does not have it. */
export function nodeModule<Id extends keyof NodeModules>(id: Id): NodeModules[Id] {
  const module = findNodeModule(id)
  if (module !== undefined) return module
  throw new TypeError(`This needs ${id}, which this runtime does not have. Use Node for it.`)
}
