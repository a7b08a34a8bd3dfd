import type { ClientCapabilities } from '@modelcontextprotocol/client'
import { isObject } from './jsonRpc.ts'

/** Declared in a legacy `initialize`: this client understands `input_required` results (SEP-2322 inside a session). */
export const ROUNDS_CAPABILITY = 'dev.pannier/rounds'

/** Declared in a legacy `initialize`: this client echoes `state` (SEP-1685). */
export const ECHO_CAPABILITY = 'dev.pannier/state-echo'

/** Where a state may stand in a host that cannot carry a top-level member. */
export const ECHO_META_KEY = 'dev.pannier/state'

export type EchoPlace = 'top' | 'meta'

export function understandsRounds(declared: ClientCapabilities): boolean {
  return isObject(declared.experimental?.[ROUNDS_CAPABILITY])
}

/** Where this client echoes a state, or undefined when it does not. The seed's place comes first. */
export function echoPlace(declared: ClientCapabilities): EchoPlace | undefined {
  const echo = declared.experimental?.[ECHO_CAPABILITY]
  if (!isObject(echo)) return undefined
  const places = Array.isArray(echo['at']) ? echo['at'] : ['top']
  return places.includes('top') ? 'top' : places.includes('meta') ? 'meta' : undefined
}
