/** The topics and actions of the console, from the parts of a gateway. */
import type { Logger } from '../server/internal.ts'
import { acceptAction, type DefinitionsParts, definitionsTopic } from './admin/console/definitions.ts'
import { callsTopic } from './admin/console/calls.ts'
import { ConsoleDesk } from './admin/console/desk.ts'
import { callAction, toolsTopic } from './admin/console/tools.ts'
import { overviewTopic } from './admin/console/overview.ts'
import type { GatewayReport } from './options.ts'
import type { Routes } from './routes/routes.ts'
import type { CallAudit } from './telemetry/audit.ts'
import type { GatewayMetrics } from './telemetry/metrics.ts'

export interface ConsoleSite {
  readonly report: () => GatewayReport
  readonly metrics: GatewayMetrics
  readonly routes: Routes
  readonly definitions: DefinitionsParts
  readonly audit: CallAudit | undefined
  readonly logger: () => Logger
}

export function gatewayConsole({ report, metrics, routes, definitions, audit, logger }: ConsoleSite): ConsoleDesk {
  metrics.recent.showsArguments = audit?.showsArguments === true
  const desk = new ConsoleDesk({
    topics: {
      overview: overviewTopic({ report, history: metrics.history, routes }),
      definitions: definitionsTopic(definitions),
      calls: callsTopic(metrics.recent),
      tools: toolsTopic(() => routes.union.fetch),
    },
    actions: {
      'definitions.accept': acceptAction(definitions),
      'tools.call': callAction(() => routes.union.fetch),
    },
    scope: () => routes.union.assembly.scope,
    logger,
    changed: ({ viewer: { role, principal }, ...change }) => {
      audit?.changed({ ...change, role, by: principal })
      logger().info({ ...change, role }, 'A change was made in the console.')
    },
  })
  desk.serve()
  return desk
}
