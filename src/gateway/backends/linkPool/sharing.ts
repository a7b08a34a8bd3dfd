/** Sharing of links: whether callers share links to a server, and which calls share one. */
import type { ClientCapabilities } from '@modelcontextprotocol/client'
import type { Verdict } from '../../../probe/index.ts'
import { isKnownStateless } from '../../../probe/internal.ts'
import { digestOf } from '../../../state/internal.ts'
import type { BackendConfig } from '../../config/index.ts'
import { callerOf, isNameless } from '../../links/callers.ts'
import type { Link, LinkCallers } from '../../links/link.ts'
import { declaredBy, questionsOf, type Relayed, withoutQuestions } from '../../links/relayed.ts'
import type { Keeping } from './room.ts'

/** The facts about a server that decide sharing. */
export interface JudgedServer {
  readonly config: {
    readonly address: BackendConfig['address']
    readonly settings: Pick<BackendConfig['settings'], 'state'>
  }
  readonly verdict: Pick<Verdict, 'state' | 'process'> | undefined
  /** The gateway's own link; undefined until the server has been reached. */
  readonly link: Pick<Link, 'hasSession'> | undefined
}

/** Whether the server is known to keep state between calls: by its entry, else by the probe. */
export function isStateful(server: JudgedServer): boolean {
  const { state } = server.config.settings
  return state === 'auto' ? server.verdict?.state === 'STATEFUL' : state === 'stateful'
}

/**
 * Whether callers may share a link. Two callers in one session or process see each other's state, so a guess is not
 * enough: over HTTP the server must have given out no session, and a process must be known to be stateless.
 */
export function mayShareLinks(server: JudgedServer): boolean {
  const { address, settings } = server.config
  if (settings.state !== 'auto') return settings.state === 'stateless'
  if (isStateful(server)) return false
  if ('url' in address) return server.link?.hasSession === false
  const { verdict } = server
  return verdict !== undefined && isKnownStateless(verdict.process)
}

/** Whether links of one caller hold state. If the quota is full, a guess is enough to evict a link, with a warning. */
export function keepingOf(server: JudgedServer): Keeping {
  if (mayShareLinks(server)) return 'nothing'
  if (isStateful(server)) return 'state'
  return server.verdict?.state === 'STATELESS' ? 'unlikely' : 'unknown'
}

/**
 * `caller`: a link for each caller. `call`: a link for each call, kept for the next one. `all`: any calls on one link, and
 * more links under load.
 */
export type Sharing = 'caller' | 'call' | 'all'

/**
 * The key of the calls that may use a link. It contains the declared capabilities, which a session-era server learns
 * once, and the caller where links are not shared. A principal keeps its link when its headers change; an anonymous
 * caller is identified by its headers, and a process by the variables it was started with.
 */
export function linkKey(relayed: Relayed, sharing: Sharing): string {
  const { declared = {} } = relayed
  if (sharing === 'all') return `all ${digestOf(declared)}`
  const caller = callerOf(relayed)
  if (sharing === 'call') return `call ${digestOf([caller, declared])}`
  const { headers, env } = relayed.credentials ?? {}
  const own = { ...(relayed.principal === undefined && { headers }), env }
  return `caller ${digestOf([caller, declared, Object.values(own).some(Boolean) ? own : {}])}`
}

/**
 * The only caller of a link with this key. Anonymous callers are different people, distinguished only by their keys.
 */
export function linkOwner(relayed: Relayed, key: string): string {
  return isNameless(relayed) ? key : callerOf(relayed)
}

/** The callers whose calls are on a link. */
export function callersOn(relayed: Relayed, sharing: Sharing): LinkCallers {
  if (sharing === 'all') return 'all'
  return sharing === 'caller' && isNameless(relayed) ? 'nameless' : 'one'
}

/**
 * The capabilities declared to a session-era server on a link: those of the call's client. A link that callers share
 * declares no questions unless the caller can be asked during the call.
 */
export function declaredOn({ peer, ask }: Relayed, sharing: Sharing): ClientCapabilities {
  const declared = declaredBy(peer)
  return sharing === 'caller' || ask !== undefined ? declared : withoutQuestions(declared)
}

/**
 * Whether a call needs a link for itself. A server's question does not name its call. A session-era client may answer
 * it in any of its calls. A stateless client answers it only in its own call, and anonymous callers are different
 * people, so two of their calls that may be asked about never share a link.
 */
export function needsOwnLink(relayed: Relayed, sharing: Sharing): boolean {
  const { session, takesInputRequired } = relayed.peer
  const isPlain = session !== undefined || (!takesInputRequired && !isNameless(relayed))
  return sharing === 'call' || (!isPlain && Object.keys(questionsOf(relayed)).length > 0)
}

export interface LinkUse {
  readonly callers: LinkCallers
  /** The link, once it is open. */
  opened: Link | undefined
  /** The number of calls on it, and of tasks that it is held for. */
  uses: number
  /** Whether one of its calls needs it for itself. */
  isExclusive: boolean
}

/**
 * Whether a call may join those on a link. `isExclusive`: it needs the link for itself. Anonymous callers are different
 * people, so cancelled calls count: the server may still ask about them.
 */
export function mayJoin({ callers, opened, uses, isExclusive: isTaken }: LinkUse, isExclusive: boolean): boolean {
  if (!isExclusive) return !isTaken
  return uses === 0 && !(callers === 'nameless' && opened?.hasLeftovers === true)
}
