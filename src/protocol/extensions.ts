import type { ClientCapabilities } from '@modelcontextprotocol/client'
import { isObject } from './jsonRpc.ts'

/** Declared in a session-era `initialize`: the client understands `input_required` results (SEP-2322). */
export const ROUNDS_CAPABILITY = 'dev.pannier/rounds'

/** Declared in a session-era `initialize`: the client echoes `state` (SEP-1685). */
export const ECHO_CAPABILITY = 'dev.pannier/state-echo'

/** The key of a state in `_meta`, for hosts that cannot send a top-level member. */
export const ECHO_META_KEY = 'dev.pannier/state'

/** In the `_meta` of a gateway's lists: sentences about servers that are not there, by what their names begin with. */
export const ABSENT_META_KEY = 'dev.pannier/absent'

export type EchoPlace = 'top' | 'meta'

export function understandsRounds(declared: ClientCapabilities): boolean {
  return isObject(declared.experimental?.[ROUNDS_CAPABILITY])
}

/** Where the client echoes a state, or undefined if it does not. The top-level member of SEP-1685 is preferred. */
export function echoPlace(declared: ClientCapabilities): EchoPlace | undefined {
  const echo = declared.experimental?.[ECHO_CAPABILITY]
  if (!isObject(echo)) return undefined
  const places = Array.isArray(echo['at']) ? echo['at'] : ['top']
  return places.includes('top') ? 'top' : places.includes('meta') ? 'meta' : undefined
}
