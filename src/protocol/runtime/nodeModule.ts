/**
 * Modules of Node, loaded at their first use. Imports would put them into every bundle for browsers and Workers, where
 * they may not exist.
 */
import type * as asyncHooks from 'node:async_hooks'
import type * as childProcess from 'node:child_process'
import type * as crypto from 'node:crypto'
import type * as diagnosticsChannel from 'node:diagnostics_channel'
import type * as fs from 'node:fs'
import type * as fsPromises from 'node:fs/promises'
import type * as net from 'node:net'
import type * as os from 'node:os'
import type * as path from 'node:path'
import type * as sqlite from 'node:sqlite'
import type * as stream from 'node:stream'
import type * as url from 'node:url'
import type * as util from 'node:util'
import type * as vm from 'node:vm'

interface NodeModules {
  readonly 'node:async_hooks': typeof asyncHooks
  readonly 'node:child_process': typeof childProcess
  readonly 'node:crypto': typeof crypto
  readonly 'node:diagnostics_channel': typeof diagnosticsChannel
  readonly 'node:fs': typeof fs
  readonly 'node:fs/promises': typeof fsPromises
  readonly 'node:net': typeof net
  readonly 'node:os': typeof os
  readonly 'node:path': typeof path
  readonly 'node:sqlite': typeof sqlite
  readonly 'node:stream': typeof stream
  readonly 'node:url': typeof url
  readonly 'node:util': typeof util
  readonly 'node:vm': typeof vm
}

/** The process. A browser has none. */
export const { process: host } = globalThis as { readonly process?: Partial<NodeJS.Process> }

const loaded: { -readonly [Id in keyof NodeModules]?: NodeModules[Id] } = {}

/** A module of Node; undefined if the runtime does not have it. */
export function findNodeModule<Id extends keyof NodeModules>(id: Id): NodeModules[Id] | undefined {
  loaded[id] ??= host?.getBuiltinModule?.(id) as (typeof loaded)[Id]
  return loaded[id]
}

/** A module of Node. Throws if the runtime does not have it. */
export function nodeModule<Id extends keyof NodeModules>(id: Id): NodeModules[Id] {
  const module = findNodeModule(id)
  if (module !== undefined) return module
  throw new TypeError(`This needs ${id}, which this runtime does not have. Use Node for it.`)
}
