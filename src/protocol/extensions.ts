import type { ClientCapabilities } from '@modelcontextprotocol/client'
import { isObject, type Json } from './jsonRpc.ts'

/** Declared in a session-era `initialize`: the client understands `input_required` results (SEP-2322). */
export const ROUNDS_CAPABILITY = 'dev.pannier/rounds'

/** Declared in a session-era `initialize`: the client echoes `state` (SEP-1685). */
export const ECHO_CAPABILITY = 'dev.pannier/state-echo'

/** The key of a state in `_meta`, for hosts that cannot send a top-level member. */
export const ECHO_META_KEY = 'dev.pannier/state'

/** In the `_meta` of a gateway's lists: a sentence about each unavailable server, by the prefix of its names. */
export const ABSENT_META_KEY = 'dev.pannier/absent'

export type EchoPlace = 'top' | 'meta'

export function understandsRounds(declared: ClientCapabilities): boolean {
  return isObject(declared.experimental?.[ROUNDS_CAPABILITY])
}

/**
 * The place in which the client echoes a state; undefined if it does not. The top-level member of SEP-1685 is
 * preferred.
 */
export function echoPlace(declared: ClientCapabilities): EchoPlace | undefined {
  const echo = declared.experimental?.[ECHO_CAPABILITY]
  if (!isObject(echo)) return undefined
  const places = Array.isArray(echo['at']) ? echo['at'] : ['top']
  return places.includes('top') ? 'top' : places.includes('meta') ? 'meta' : undefined
}

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
