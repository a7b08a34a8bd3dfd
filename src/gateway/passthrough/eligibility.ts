/** Which requests can go to a server as they are, unread, and where. */
import { isObject, TASKS_EXTENSION } from '../../protocol/index.ts'
import type { Assembly, EndpointRequest } from '../../server/internal.ts'
import type { Backend } from '../backends/backend.ts'
import type { About } from '../links/link.ts'
import type { BackendSettings } from '../config/index.ts'
import { isTraced } from '../telemetry/tracing.ts'
import type { Upstreams } from '../upstreams/upstreams.ts'

/** The method of requests whose answer is a stream that stays open. */
export const LISTEN = 'subscriptions/listen'

/**
 * To a server of the stateless era over HTTP that keeps nothing, and of which everything is served. It has no tasks, whose
 * ids are told apart by caller, and needs no login, which may have to be renewed in between.
 */
export function passthroughTo(backend: Backend): Upstreams | undefined {
  const { link, upstreams, isShared, mayBeRejected, config } = backend
  if (upstreams === undefined || !link?.isDirect || hasTasks(link.about)) return undefined
  return isShared && !mayBeRejected && servesEverything(config.settings) ? upstreams : undefined
}

/**
 * Who claims to listen is not counted among the calls, so where calls are counted this has to be read. So has what the
 * gateway adds its own span to.
 */
export function mayPass(request: EndpointRequest, limits: Assembly['limits']): boolean {
  const isRead = isTraced() || (limits?.countsCalls === true && claimsToListen(request))
  return request.method === 'POST' && request.hasBytes && !isRead
}

export function claimsToListen({ header }: EndpointRequest): boolean {
  return header('mcp-method') === LISTEN
}

function servesEverything({ definitions, tools }: BackendSettings): boolean {
  return definitions !== 'pin' && tools.deny.length === 0 && tools.allow.includes('*')
}

function hasTasks({ capabilities }: About): boolean {
  const { tasks, extensions } = capabilities
  return tasks !== undefined || (isObject(extensions) && extensions[TASKS_EXTENSION] !== undefined)
}
