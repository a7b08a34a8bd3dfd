/** What is measured of the servers behind a gateway when somebody asks. */
import type { Backend } from '../backends/backend.ts'
import type { ServerMeasures } from '../telemetry/metrics.ts'

export function measuresOf(backend: Backend): ServerMeasures {
  const { name, config, condition, inFlight, links, listAgeSeconds, servedTools } = backend
  return {
    server: name,
    isUp: condition.kind === 'up',
    inFlight,
    transport: 'command' in config.address ? 'process' : 'connection',
    links: links + (hasOwnLink(backend) ? 1 : 0),
    tools: servedTools.length,
    listAgeSeconds,
  }
}

/** Whether the gateway has a process, a session or a stream of its own there. */
function hasOwnLink({ link, config }: Backend): boolean {
  const isOpen = link !== undefined && !link.isClosed
  return isOpen && !(link.era === 'modern' && 'url' in config.address)
}
