/** The identity of a caller, and the caller that quotas count for. */
import { rememberedTexts } from '../../protocol/index.ts'
import { networkOf, type Principal } from '../../server/internal.ts'
import { digestOf } from '../../state/internal.ts'
import { declaredBy, type Relayed } from './relayed.ts'

const ANONYMOUS = 'anonymous'

type CallerParts = Pick<Relayed, 'principal' | 'peer' | 'caller'>

/**
 * The identity of a caller: the principal, else the session of a session-era client, else the name that the client
 * keeps for the gateway, else one identity for all anonymous callers.
 */
export function callerOf({ principal, peer, caller }: CallerParts): string {
  if (principal !== undefined) return `principal ${principal.id}`
  if (peer.session !== undefined) return sessionCaller(peer.session)
  return caller === undefined ? ANONYMOUS : clientCaller(caller)
}

/** A client identified by its session. */
export function sessionCaller(session: string): string {
  return `session ${session}`
}

/** A client identified by the name that the gateway gave it. */
export function clientCaller(name: string): string {
  return `client ${name}`
}

/**
 * The caller of a lease. Clients of one caller that declare different capabilities have different sessions at a
 * session-era server, and so different leases.
 */
export function leasedCaller(caller: CallerParts, declaresOnLinks: boolean): string {
  return declaresOnLinks ? `${callerOf(caller)} ${digestOf(declaredBy(caller.peer))}` : callerOf(caller)
}

export function isNameless(caller: CallerParts): boolean {
  return callerOf(caller) === ANONYMOUS
}

/**
 * The caller that quotas count for. Anonymous sessions cost nothing to open, so those of one network count together.
 */
export function quotaCaller(relayed: CallerParts & Pick<Relayed, 'address'>): string {
  const { principal, address } = relayed
  return principal === undefined && address === undefined ? callerOf(relayed) : quotaCallerByHeaders(principal, address)
}

/** The same for a request of which only the headers have been read. */
export function quotaCallerByHeaders(principal: Principal | undefined, address: string | undefined): string {
  // Quotas read the first line of a name of two lines as a group.
  if (principal !== undefined) return `principal ${principal.id.replaceAll('\n', ' ')}`
  return address === undefined ? ANONYMOUS : networkCaller(address)
}

const MAX_NETWORKS = 1000

/** Remembered, because a string built for each request would be hashed each time. */
const networkCaller = rememberedTexts((address) => `network ${networkOf(address)}`, MAX_NETWORKS)
