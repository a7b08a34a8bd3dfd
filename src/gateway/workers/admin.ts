/** The admin endpoint of a gateway with several workers, aggregated over all of them. */
import type { AdminSettings } from '../config/index.ts'
import { type AdminListening, listenAdmin } from '../admin/listen.ts'
import { aggregateHealth, aggregateMetrics, aggregateServers } from './aggregate.ts'
import type { Workers } from './workers.ts'

export interface WorkersAdmin extends AdminListening {
  readonly hasMetrics: boolean
}

export async function listenWorkersAdmin(settings: AdminSettings, workers: Workers): Promise<WorkersAdmin> {
  const hasMetrics = (await workers.states()).some(({ report }) => report?.metrics !== undefined)
  const metrics = async (): Promise<string> => aggregateMetrics(await workers.states())
  const admin = await listenAdmin(settings, {
    health: async () => aggregateHealth(await workers.states()),
    servers: async () => aggregateServers(await workers.states()),
    ...(hasMetrics && { metrics }),
  })
  return { ...admin, hasMetrics }
}
