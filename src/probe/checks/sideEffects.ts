/** What was noticed along the way. These send nothing. */
import { evidence } from '../report/evidence.ts'
import type { Check } from './check.ts'

/** Since SEP-2260 a server asks its client something only inside a request of that client; pings stay allowed. */
export const unrelatedRequests: Check = {
  name: 'unrelated-requests',
  isUsual: true,
  cost: ({ wire, stream }) => (wire.transport === 'stdio' || stream?.kind === 'stream' ? 0 : undefined),
  run: ({ wire }) => {
    const methods = [...new Set(wire.unrelated.map(named))].filter((method) => method !== 'ping')
    return methods.length === 0
      ? evidence('unrelated-requests', 'UNKNOWN', 'It asked nothing outside a request.')
      : evidence('unrelated-requests', 'STATEFUL', `It asks outside a request: ${methods.join(', ')}.`, { methods })
  },
}

/** The standard output of a program belongs to the protocol. */
export const strayOutput: Check = {
  name: 'stray-output',
  isUsual: true,
  cost: ({ wire }) => (wire.transport === 'stdio' && wire.strayLines > 0 ? 0 : undefined),
  run: ({ wire }) => {
    const lines = wire.transport === 'stdio' ? wire.strayLines : 0
    const count = lines === 1 ? '1 line' : `${lines} lines`
    return evidence('stray-output', 'UNKNOWN', `It writes ${count} to its standard output that are no messages.`, {
      lines,
    })
  },
}

const ASKABLE: ReadonlySet<string> = new Set(['ping', 'elicitation/create', 'sampling/createMessage', 'roots/list'])

/** A server could call its methods anything. */
function named(method: string): string {
  return ASKABLE.has(method) ? method : 'another method'
}
