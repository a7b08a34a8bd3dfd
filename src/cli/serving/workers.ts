import { availableParallelism } from 'node:os'
import type { GatewayConfig } from '../../gateway/index.ts'
import { listenWorkersAdmin, overdrawn, runGatewayWorker, Workers } from '../../gateway/internal.ts'
import { WORKER_ENV } from './workerProcess.ts'
import { adminPages, gatewayOf, type ServedGateway, tableOf } from './served.ts'

export interface ServingWorkersOptions {
  readonly workers: number
  readonly onNews: (sentence: string) => void
}

/** Serves in so many processes, which this one starts. It serves nobody itself. */
export function inWorkers(config: GatewayConfig, { workers: count, onNews }: ServingWorkersOptions): ServedGateway {
  const cores = availableParallelism()
  if (count > cores) onNews(`There are more workers (${count}) than processors (${cores}) here, which gains nothing.`)
  for (const server of overdrawn(config, count))
    onNews(
      `"${server}" may have less than one process, session or request for each worker. Each worker has one all the same.`,
    )
  const workers = new Workers({ workers: count, env: WORKER_ENV, config, onNews })
  let closeAdmin = async (): Promise<void> => {}
  return {
    listen: (at) => workers.start(at),
    listenAdmin: async () => {
      const { admin } = config.settings
      if (admin === false) return []
      const { url, close, hasMetrics } = await listenWorkersAdmin(admin, workers)
      closeAdmin = close
      return adminPages(url, hasMetrics)
    },
    table: (options) => workers.table(options),
    reload: (changed) => workers.reload(changed),
    drain: async () => {
      await workers.drain()
      await closeAdmin() // until then it says that no new calls are taken
    },
  }
}

/** This process is such a worker, until it ends. */
export function serveAsWorker(): Promise<never> {
  return runGatewayWorker({ create: gatewayOf, tableOf })
}
