/** Who may use one link together. */
import type { ClientCapabilities } from '@modelcontextprotocol/client'
import { digestOf } from '../../../state/internal.ts'
import type { Link, LinkCallers } from '../../links/link.ts'
import { declaredOf, EVERY_QUESTION, questionsOf, type Relayed } from '../../links/relayed.ts'
import { callerOf, isNameless } from '../callers.ts'

/**
 * `caller`: a link for each caller. `call`: a link for each call, kept for the next one. `all`: any calls on one link, and
 * more links under load.
 */
export type Sharing = 'caller' | 'call' | 'all'

/**
 * Who may use a link. The headers of a principal may be others tomorrow and are still theirs; those of a caller without a
 * name may be another's, and variables are those that the process was started with.
 */
export function linkKey(relayed: Relayed, sharing: Sharing): string {
  const caller = callerOf(relayed)
  if (sharing === 'all') return 'all'
  if (sharing === 'call') return `call ${digestOf([caller, declaredOf(relayed)])}`
  const { headers, env } = relayed.credentials ?? {}
  const own = { ...(relayed.principal === undefined && { headers }), env }
  return `caller ${digestOf([caller, Object.values(own).some(Boolean) ? own : {}])}`
}

/** Whose calls are on a link. */
export function callersOn(relayed: Relayed, sharing: Sharing): LinkCallers {
  if (sharing === 'all') return 'all'
  return sharing === 'caller' && isNameless(relayed) ? 'nameless' : 'one'
}

/**
 * What a server of the session era is told that it may ask on a link. The clients of a caller can be asked different things,
 * and share the link with what the server keeps there. So it may ask anything, and is refused what the client of a call has
 * not declared. A caller who is a session is one client.
 */
export function declaredOn(relayed: Relayed, sharing: Sharing): ClientCapabilities {
  const isOneClient = relayed.principal === undefined && relayed.peer.session !== undefined
  const declared = declaredOf(relayed)
  return sharing === 'caller' && !isOneClient ? { ...declared, ...EVERY_QUESTION } : declared
}

/**
 * What a server asks says not in which call. A client of the session era answers it in any of its calls, also where another
 * gateway asks it; one of the stateless era only in the call that it belongs to, and callers without a name are different
 * people. So two of their calls that may be asked about are never on one link.
 */
export function needsOwnLink(relayed: Relayed, sharing: Sharing): boolean {
  const { session, takesInputRequired } = relayed.peer
  const isPlain = session !== undefined || (!takesInputRequired && !isNameless(relayed))
  return sharing === 'call' || (!isPlain && Object.keys(questionsOf(relayed)).length > 0)
}

/** Who is on a link. */
export interface LinkUse {
  readonly callers: LinkCallers
  /** The link, once it is open. */
  opened: Link | undefined
  /** How many calls are on it, and tasks that it is held for. */
  uses: number
  /** Whether one of these calls needs it for itself. */
  isExclusive: boolean
}

/**
 * Whether a call may use a link beside those that are on it. `isExclusive`: it needs the link for itself. Callers without a
 * name are different people, so that calls count which were given up: the server may still ask about them.
 */
export function mayJoin({ callers, opened, uses, isExclusive: isTaken }: LinkUse, isExclusive: boolean): boolean {
  if (!isExclusive) return !isTaken
  return uses === 0 && !(callers === 'nameless' && opened?.hasLeftovers === true)
}
