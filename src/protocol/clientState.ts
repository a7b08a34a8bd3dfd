import type { ClientCapabilities } from '@modelcontextprotocol/client'
import { isObject, type Json } from './jsonRpc.ts'

/** Client-side state (SEP-1655): two dictionaries in `_meta` that the client keeps for the server. */
export type StateScope = 'session' | 'server'

export const STATE_SCOPES: readonly StateScope[] = ['session', 'server']
/** The extension that declares client-side state where capabilities are a closed set. */
export const CLIENT_STATE_EXTENSION = 'dev.pannier/client-state'

export function stateKey(scope: StateScope): string {
  return `modelcontextprotocol.io/state/${scope}`
}

/** Whether a client declares client-side state, by `capabilities.state` (SEP-1655) or by the extension. */
export function keepsState(declared: ClientCapabilities): boolean {
  return isObject((declared as Json)['state']) || isObject(declared.extensions?.[CLIENT_STATE_EXTENSION])
}

/** The state in the `_meta` of a request. SEP-1655 also writes the key as an http:// address; both are read. */
export function readState(meta: Json, scope: StateScope): Json {
  const key = stateKey(scope)
  const state = meta[key] ?? meta[`http://${key}`]
  return isObject(state) ? state : {}
}
