/**
 * A server's declarations about its sessions (`serverInfo.architecture`, `capabilities.session`), and whether they are
 * true.
 */
import { plainLine } from '../../client/index.ts'
import { isObject, type Json, META } from '../../protocol/index.ts'
import type { State } from './result.ts'

/** A server's declarations about its own state. */
export interface Declared {
  /** `serverInfo.architecture`. */
  readonly architecture?: string
  /** `serverInfo.transport`. */
  readonly transport?: readonly string[]
  /** `capabilities.session`. */
  readonly session?: { readonly persistent?: boolean; readonly poolable?: boolean }
}

/** Reads the result of `initialize` or of `server/discover`; undefined if nothing is declared. */
export function readDeclared(result: Json): Declared | undefined {
  const { architecture, transport } = serverInfoIn(result)
  const capabilities = isObject(result['capabilities']) ? result['capabilities'] : {}
  const declared: Declared = {
    ...(typeof architecture === 'string' && { architecture: plainLine(architecture, 40) }),
    ...(Array.isArray(transport) && { transport: namesIn(transport) }),
    ...(isObject(capabilities['session']) && { session: sessionIn(capabilities['session']) }),
  }
  return Object.keys(declared).length === 0 ? undefined : declared
}

/** In the session era it stands beside the capabilities, in the stateless revision in `_meta`. */
export function serverInfoIn(result: Json): Json {
  const meta = isObject(result['_meta']) ? result['_meta'][META.server] : undefined
  const info = result['serverInfo'] ?? meta
  return isObject(info) ? info : {}
}

/** The declared state; UNKNOWN if declarations are missing or contradict each other. */
export function declaredState({ architecture, session }: Declared): State {
  const states = new Set([stateNamed(architecture), statePersistent(session?.persistent)])
  states.delete('UNKNOWN')
  const [only = 'UNKNOWN'] = states
  return states.size === 1 ? only : 'UNKNOWN'
}

/** A sentence for each declaration that contradicts a finding. */
export function contradictions(declared: Declared, found: State, transport: 'http' | 'stdio'): string[] {
  const { architecture, session } = declared
  const claims = [
    [stateNamed(architecture), `serverInfo.architecture "${architecture}"`],
    [statePersistent(session?.persistent), `capabilities.session.persistent ${session?.persistent}`],
  ] as const
  const wrong = claims
    .filter(([state]) => state !== 'UNKNOWN' && found !== 'UNKNOWN' && state !== found)
    .map(([, claim]) => `It declares ${claim}, but it was found to be ${found}.`)
  const isUnnamed = declared.transport !== undefined && !declared.transport.some((name) => isNamed(name, transport))
  return isUnnamed ? [...wrong, `It was reached over ${transport}, which serverInfo.transport does not name.`] : wrong
}

function stateNamed(architecture: string | undefined): State {
  switch (architecture?.toLowerCase()) {
    case 'stateless':
      return 'STATELESS'
    case 'stateful':
      return 'STATEFUL'
    default:
      return 'UNKNOWN'
  }
}

function statePersistent(persistent: boolean | undefined): State {
  if (persistent === undefined) return 'UNKNOWN'
  return persistent ? 'STATEFUL' : 'STATELESS'
}

function sessionIn({ persistent, poolable }: Json): NonNullable<Declared['session']> {
  return {
    ...(typeof persistent === 'boolean' && { persistent }),
    ...(typeof poolable === 'boolean' && { poolable }),
  }
}

function namesIn(list: readonly unknown[]): readonly string[] {
  return list
    .slice(0, 10)
    .filter((name) => typeof name === 'string')
    .map((name) => plainLine(name, 40))
}

/** "http", "https", "streamable-http", "streamableHttp", "sse": all of them are over HTTP. */
function isNamed(name: string, transport: 'http' | 'stdio'): boolean {
  return transport === 'http' ? /http|sse/i.test(name) : /stdio/i.test(name)
}
