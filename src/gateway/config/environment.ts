/** Variables of the environment that look like ours, and that nobody reads. */
import type { Env } from '../../client/internal.ts'
import { nameAdvice } from '../../protocol/index.ts'
import type { Doubt } from './doubtful.ts'

/** What users set. */
const VARIABLES = ['PANNIER_KEYS', 'PANNIER_ADVERTISE', 'PANNIER_PEERS', 'PANNIER_LOG_LEVEL']
/** What gateways set for the processes that they start. */
const OF_GATEWAYS: ReadonlySet<string> = new Set(['PANNIER_GATEWAYS', 'PANNIER_GATEWAY_WORKER'])
/** Kubernetes sets such variables in each container for a service whose name begins with "pannier". */
const OF_SERVICES = /_SERVICE_(HOST|PORT)|_PORT(_\d+_(TCP|UDP|SCTP)(_PROTO|_PORT|_ADDR)?)?$/

/** `text`: the file, which may name variables of its users. */
export function unreadVariables(env: Env, text: string): readonly Doubt[] {
  const unread = Object.keys(env).filter(
    (name) =>
      name.startsWith('PANNIER_') &&
      !VARIABLES.includes(name) &&
      !OF_GATEWAYS.has(name) &&
      !OF_SERVICES.test(name) &&
      !text.includes(name),
  )
  return unread.map((name) => ({ path: [name], sentence: `is not read${adviceFor(name)}` }))
}

function adviceFor(name: string): string {
  const near = nameAdvice(name, VARIABLES)
  return near.startsWith(';') ? near : `. There are ${VARIABLES.join(', ')}.`
}
