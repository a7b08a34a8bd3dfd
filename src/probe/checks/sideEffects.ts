/** Side effects that were seen during the probe: unrelated requests and stray output. These checks send nothing. */
import { evidence } from '../report/evidence.ts'
import type { ProbeCheck } from './check.ts'

/** SEP-2260: a server sends requests only while it handles a request of that client. Pings stay allowed. */
export const unrelatedRequests: ProbeCheck = {
  name: 'unrelated-requests',
  isUsual: true,
  cost: ({ wire, stream }) => (wire.transport === 'stdio' || stream?.kind === 'stream' ? 0 : undefined),
  run: ({ wire }) => {
    const methods = [...new Set(wire.unrelated.map(knownMethod))].filter((method) => method !== 'ping')
    return methods.length === 0
      ? evidence('unrelated-requests', 'UNKNOWN', 'It sent no requests of its own outside a request.')
      : evidence(
          'unrelated-requests',
          'STATEFUL',
          `It sends requests of its own outside a request: ${methods.join(', ')}.`,
          { methods },
        )
  },
}

/** The standard output of a server program is for protocol messages only. */
export const strayOutput: ProbeCheck = {
  name: 'stray-output',
  isUsual: true,
  cost: ({ wire }) => (wire.transport === 'stdio' && wire.strayLines > 0 ? 0 : undefined),
  run: ({ wire }) => {
    const lines = wire.transport === 'stdio' ? wire.strayLines : 0
    const count = lines === 1 ? '1 line' : `${lines} lines`
    return evidence('stray-output', 'UNKNOWN', `It writes ${count} to its standard output that are not messages.`, {
      lines,
    })
  },
}

const CLIENT_METHODS: ReadonlySet<string> = new Set([
  'ping',
  'elicitation/create',
  'sampling/createMessage',
  'roots/list',
])

/** Unknown method names are not repeated: they are text from the server. */
function knownMethod(method: string): string {
  return CLIENT_METHODS.has(method) ? method : 'another method'
}
