import type { GatewayConfig } from '../../gateway/index.ts'
import { prometheusMetrics } from '../../gateway/internal.ts'
import { adminPages, gatewayOf, type ServedGateway, tableOf } from './served.ts'

/** Serves in this process. */
export function oneProcess(config: GatewayConfig): ServedGateway {
  const gateway = gatewayOf(config)
  return {
    listen: async (at) => (await gateway.listen({ ...at, drainOnTerm: false })).url,
    stdio: () => gateway.stdio(),
    listenAdmin: async () => {
      const metrics = await prometheusMetrics()
      const admin = await gateway.listenAdmin({ metrics })
      return admin === undefined ? [] : adminPages(admin.url, metrics !== undefined)
    },
    table: (options) => tableOf(gateway, options),
    reload: (changed) => gateway.reload(changed),
    drain: () => gateway.drain(),
  }
}
