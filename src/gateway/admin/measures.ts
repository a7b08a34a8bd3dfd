/** What is measured of the servers behind a gateway when somebody asks. */
import type { Backend } from '../backends/backend.ts'
import type { ServerMeasures } from '../telemetry/metrics.ts'

export function measuresOf(backend: Backend): ServerMeasures {
  const { name, config, condition, inFlight, links, listAgeSeconds, servedTools, hasOwnLink } = backend
  return {
    server: name,
    isUp: condition.kind === 'up',
    inFlight,
    transport: 'command' in config.address ? 'process' : 'connection',
    links: links + (hasOwnLink ? 1 : 0),
    tools: servedTools.length,
    listAgeSeconds,
  }
}
