/** Faults of the network: at which messages they can happen, and what becomes of the message. */
import { setTimeout as sleep } from 'node:timers/promises'
import { type Fault, isDelivered } from './faults.ts'
import type { Fate, Passing } from './fleet/passing.ts'
import type { ServerKind } from './fleet/servers.ts'

/** Longer than a gateway waits for another one, and shorter than twice that. */
const HELD_MS = 3000

/** Gives what becomes of the message. */
export async function disturb({ kind, victim }: Fault): Promise<Fate> {
  if (kind === 'twice') return 'twice'
  if (kind === 'hold') await sleep(HELD_MS)
  if (isDelivered({ kind, victim })) return undefined
  return victim === 'inbound' ? 'cut inbound' : 'cut outbound'
}

/** Whether the fault can happen at this message, and a peer could notice or repair it. */
export function canDisturb(fault: Fault, passing: Passing, server: ServerKind): boolean {
  const isConnection = passing.target.startsWith('http:')
  if (!isConnection) return false // lines of a process
  if (fault.kind === 'twice') return mayBeSentAgain(passing, server)
  return isDelivered(fault) || !isLostForGood(passing, server)
}

/**
 * A client that loses its stream before the first event cannot come back to it, and none sends an answer again. A server of the
 * SDK v1 forgets what it asks on the stream of a session while that is not there.
 */
function isLostForGood({ way, what, body, isFirst, isGet }: Passing, { state }: ServerKind): boolean {
  if (way === 'gateway ↔ server') return isGet === true && state === 'stateful'
  return way === 'client ↔ gateway' && (isFirst === true || (what === 'request' && isAnswer(body)))
}

/**
 * A balancer may send a request again that got no response, unless it is a new call, which would be another one. What goes on
 * with a call is done once by gateways and by our own server; a server of the SDK v2 promises nothing of the kind.
 */
function mayBeSentAgain({ way, what, body }: Passing, { isOurs, state }: ServerKind): boolean {
  if (what !== 'request' || way === 'gateway ↔ server') return false
  if (way === 'gateway ↔ gateway' || !body.includes('"tools/call"')) return true
  return body.includes('"requestState"') && (isOurs || state === 'stateful')
}

function isAnswer(body: string): boolean {
  return body !== '' && !body.includes('"method"')
}
