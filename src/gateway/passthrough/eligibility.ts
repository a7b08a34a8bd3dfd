/** Eligibility for passthrough: which requests go to a server unparsed, and to which addresses. */
import { isObject, TASKS_EXTENSION } from '../../protocol/index.ts'
import type { Assembly, EndpointRequest } from '../../server/internal.ts'
import type { Backend } from '../backends/backend.ts'
import type { About } from '../links/link.ts'
import type { BackendSettings } from '../config/index.ts'
import { isTraced } from '../telemetry/tracing.ts'
import type { Upstreams } from '../upstreams/upstreams.ts'

/** The method whose answer is a long-lived stream. */
export const LISTEN = 'subscriptions/listen'

/**
 * Passthrough needs a stateless server of the stateless era over HTTP, whose tools are all served. It has no tasks,
 * whose ids belong to callers, and no login, which may have to be renewed in between.
 */
export function passthroughTo(backend: Backend): Upstreams | undefined {
  const { connector, upstreams, isShared, mayBeRejected, config } = backend
  const { link } = connector
  if (upstreams === undefined || !link?.isDirect || hasTasks(link.about)) return undefined
  return isShared && !mayBeRejected && servesEverything(config.settings) ? upstreams : undefined
}

/**
 * Listening does not count as a call, so a claim to listen must be verified if calls are counted. A request that gets
 * the gateway's span is parsed, too.
 */
export function mayPass(request: EndpointRequest, limits: Assembly['limits']): boolean {
  const isRead = isTraced() || (limits?.countsCalls === true && claimsToListen(request))
  return request.method === 'POST' && request.hasBytes && !isRead
}

export function claimsToListen({ header }: EndpointRequest): boolean {
  return header('mcp-method') === LISTEN
}

function servesEverything({ definitions, tools }: BackendSettings): boolean {
  return definitions === 'warn' && tools.deny.length === 0 && tools.allow.includes('*')
}

function hasTasks({ capabilities }: About): boolean {
  const { tasks, extensions } = capabilities
  return tasks !== undefined || (isObject(extensions) && extensions[TASKS_EXTENSION] !== undefined)
}
