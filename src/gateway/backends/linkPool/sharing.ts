/** Who may use one link together. */
import { digestOf } from '../../../state/internal.ts'
import { declaredOf, questionsOf, type Relayed } from '../../links/relayed.ts'
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

/**
 * What a server asks says not in which call. A client of the session era answers it in any of its calls; one of the
 * stateless era only in the call that it belongs to, and callers without a name are different people. So two of their
 * calls that may be asked about are never on one link.
 */
export function mayBeAskedForAnother(relayed: Relayed): boolean {
  const isPlain = !isNameless(relayed) && !relayed.peer.takesInputRequired
  return !isPlain && Object.keys(questionsOf(relayed)).length > 0
}
