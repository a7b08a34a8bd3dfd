/** The first page: this process and its servers, with the calls of the last hour. */
import { hostname } from 'node:os'
import type { Json } from '../../../protocol/index.ts'
import type { CallHistory } from '../../telemetry/history.ts'
import type { GatewayReport } from '../../options.ts'
import type { ConsoleTopic } from './desk.ts'

export interface OverviewParts {
  readonly report: () => GatewayReport
  readonly history: CallHistory
  readonly routes: {
    /** Where other gateways reach this process. */
    readonly address: string | undefined
    /** Configured addresses without a gateway. */
    readonly missing: readonly Json[]
    readonly underWay: { readonly inFlight: number; readonly waiting: number }
  }
}

const startedAt = Date.now() - Math.round(process.uptime() * 1000)

/** Items: `gateway`, `server/NAME`, and `hour/NAME` with the calls of the server. */
export function overviewTopic({ report, history, routes }: OverviewParts): ConsoleTopic {
  return {
    isOfEach: true,
    read: () => {
      const { health, servers } = report()
      const items: Record<string, Json> = {
        gateway: {
          ...health,
          ...routes.underWay,
          missing: routes.missing,
          address: routes.address ?? null,
          pid: process.pid,
          host: hostname(),
          startedAt,
        },
      }
      for (const server of servers) {
        const name = String(server['name'])
        items[`server/${name}`] = withoutAge(server)
        items[`hour/${name}`] = { ...history.of(name) }
      }
      return items
    },
  }
}

/** A report without what differs at each reading. */
function withoutAge(server: Json): Json {
  const { verdict, ...rest } = server as { readonly verdict?: Json }
  if (verdict === undefined) return rest
  const { ageSeconds: _, ...kept } = verdict
  return { ...rest, verdict: kept }
}
