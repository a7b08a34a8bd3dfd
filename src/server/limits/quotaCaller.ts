/**
 * The caller that quotas and rates count for: the principal, or the session of an anonymous caller. So one caller
 * cannot crowd out another.
 *
 * Sessions cost nothing, so anonymous sessions are grouped by their network, and each group has a limit. It is a larger
 * one, because everybody behind one proxy, and many behind one router, have the same address.
 */
import { digestOf } from '../../state/internal.ts'
import { groupOf } from '../../state/quota/index.ts'
import type { Call, Caller } from '../call.ts'

/** Two lines for a caller of a group: the name of the group, then the name of the caller. */
export function quotaCaller({ principal, peer, address }: Caller): string {
  if (principal !== undefined) return `principal ${principal.id.replaceAll('\n', ' ')}`
  const session = `session ${peer.session ?? ''}`
  if (address === undefined) return session
  return `network ${networkOf(address)}\n${peer.session === undefined ? '' : session}`
}

/**
 * The same for a call. Undefined for anonymous callers without an address and a session, because they cannot be
 * distinguished.
 */
export function knownCaller(call: Call): string | undefined {
  const { principal, peer, channel } = call
  if (principal !== undefined) return quotaCaller(call)
  const address = call.address ?? channel.address
  return address === undefined && peer.session === undefined ? undefined : quotaCaller({ principal, peer, address })
}

/** A caller without its name, for other instances. Callers of a group keep their group. */
export function hiddenCaller(caller: string): string {
  const group = groupOf(caller)
  return group === caller ? digestOf(caller) : `${digestOf(group)}\n${digestOf(caller)}`
}

/** The network of an address. The holder of an IPv6 address usually has its whole /64, so that is one network. */
export function networkOf(address: string): string {
  if (!address.includes(':')) return address
  const groups = groupsOf(address.split('%', 1).join(''))
  const isMapped = groups[5] === 0xffff && groups.slice(0, 5).every((group) => group === 0)
  if (isMapped)
    return groups
      .slice(6)
      .flatMap((group) => [group >> 8, group & 255])
      .join('.')
  return `${groups
    .slice(0, 4)
    .map((group) => group.toString(16))
    .join(':')}::/64`
}

/** The eight numbers of an address of IPv6. The last two may be written as an address of IPv4. */
function groupsOf(address: string): readonly number[] {
  const [head = [], tail] = address.split('::').map((part) => (part === '' ? [] : part.split(':').flatMap(numbersIn)))
  if (tail === undefined) return head
  return [...head, ...Array.from({ length: Math.max(0, 8 - head.length - tail.length) }, () => 0), ...tail]
}

function numbersIn(group: string): readonly number[] {
  if (!group.includes('.')) return [Number.parseInt(group, 16)]
  const [a = 0, b = 0, c = 0, d = 0] = group.split('.').map(Number)
  return [a * 256 + b, c * 256 + d]
}
