/** Whether requests can go to a server as they are, and where. */
import { isObject, TASKS_EXTENSION } from '../../protocol/index.ts'
import type { Backend } from '../backends/backend.ts'
import type { About } from '../links/link.ts'
import type { BackendSettings } from '../config/index.ts'
import type { Upstreams } from '../upstreams/upstreams.ts'

/**
 * To a server of the stateless era over HTTP that keeps nothing, and of which everything is served. It has no tasks, whose
 * ids are told apart by caller, and needs no login, which may have to be renewed in between.
 */
export function passthroughTo(backend: Backend): Upstreams | undefined {
  const { link, upstreams, isShared, mayBeRejected, config } = backend
  if (upstreams === undefined || !link?.isDirect || hasTasks(link.about)) return undefined
  return isShared && !mayBeRejected && servesEverything(config.settings) ? upstreams : undefined
}

function servesEverything({ definitions, tools }: BackendSettings): boolean {
  return definitions !== 'pin' && tools.deny.length === 0 && tools.allow.includes('*')
}

function hasTasks({ capabilities }: About): boolean {
  const { tasks, extensions } = capabilities
  return tasks !== undefined || (isObject(extensions) && extensions[TASKS_EXTENSION] !== undefined)
}
