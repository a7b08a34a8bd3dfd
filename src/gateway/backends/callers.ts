/** Who a caller is, and for whom what a caller uses is counted. */
import { networkOf, type Principal } from '../../server/internal.ts'
import type { Relayed } from '../links/relayed.ts'

const ANONYMOUS = 'anonymous'

type CallerParts = Pick<Relayed, 'principal' | 'peer' | 'caller'>

/**
 * Who a caller is: the principal, else the session of a session-era client, else what a client keeps for the gateway, else
 * everyone without a name together.
 */
export function callerOf({ principal, peer, caller }: CallerParts): string {
  if (principal !== undefined) return `principal ${principal.id}`
  if (peer.session !== undefined) return `session ${peer.session}`
  return caller === undefined ? ANONYMOUS : clientCaller(caller)
}

/** A client that keeps the name which the gateway gave it. */
export function clientCaller(name: string): string {
  return `client ${name}`
}

/** Whether nothing tells this caller from others. */
export function isNameless(caller: CallerParts): boolean {
  return callerOf(caller) === ANONYMOUS
}

/** Whoever may begin sessions without a name can begin many, so that all of one network count together. */
export function holderOf(relayed: CallerParts & Pick<Relayed, 'address'>): string {
  const { principal, address } = relayed
  return principal === undefined && address === undefined ? callerOf(relayed) : holderByHeaders(principal, address)
}

/** The same where nothing of a request has been read but its headers. */
export function holderByHeaders(principal: Principal | undefined, address: string | undefined): string {
  // The first of two lines would be a group, which ledgers count for.
  if (principal !== undefined) return `principal ${principal.id.replaceAll('\n', ' ')}`
  return address === undefined ? ANONYMOUS : networkHolder(address)
}

/** A new text would be hashed for each request, and is the same for all of an address. */
const holders = new Map<string, string>()
const MAX_HOLDERS = 1000

function networkHolder(address: string): string {
  const known = holders.get(address)
  if (known !== undefined) return known
  const holder = `network ${networkOf(address)}`
  if (holders.size < MAX_HOLDERS) holders.set(address, holder)
  return holder
}
