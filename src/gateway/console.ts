/** The topics and actions of the console, from the parts of a gateway. */
import type { QuestionDesk } from '../server/index.ts'
import type { Logger } from '../server/internal.ts'
import { acceptAction, type DefinitionsParts, definitionsTopic } from './admin/console/definitions.ts'
import { callsTopic } from './admin/console/calls.ts'
import { answerAction, inboxTopic } from './admin/console/inbox.ts'
import { ConsoleLogin } from './admin/console/login.ts'
import { ConsoleDesk } from './admin/console/desk.ts'
import { callAction, toolsTopic } from './admin/console/tools.ts'
import { settingsTopic } from './admin/console/settings.ts'
import { type OverviewParts, overviewTopic } from './admin/console/overview.ts'
import type { GatewayReport } from './options.ts'
import type { GatewayConfig } from './config/index.ts'
import type { Keyring } from '../state/seal/index.ts'
import type { Routes } from './routes/routes.ts'
import type { CallAudit } from './telemetry/audit.ts'
import type { GatewayMetrics } from './telemetry/metrics.ts'

export interface ConsoleSite {
  readonly report: () => GatewayReport
  readonly metrics: GatewayMetrics
  readonly routes: Routes
  readonly definitions: DefinitionsParts
  readonly config: () => GatewayConfig
  /** Whether this is one of several workers. */
  readonly isWorker: boolean
  readonly keyring: Keyring
  readonly audit: CallAudit | undefined
  readonly logger: () => Logger
}

export function gatewayConsole({
  report,
  metrics,
  routes,
  definitions,
  audit,
  logger,
  config,
  isWorker,
  keyring,
}: ConsoleSite): ConsoleDesk {
  const deskOf = (): QuestionDesk | undefined => routes.questions?.desk
  const { admin } = config().settings
  const login = admin === false || admin.login === undefined ? undefined : new ConsoleLogin(admin.login, keyring)
  metrics.recent.showsArguments = audit?.showsArguments === true
  const desk = new ConsoleDesk({
    topics: {
      overview: overviewTopic({ report, history: metrics.history, routes: fleetOf(routes) }),
      definitions: definitionsTopic(definitions),
      calls: callsTopic(metrics.recent),
      tools: toolsTopic(() => routes.union.fetch),
      inbox: inboxTopic(deskOf),
      settings: settingsTopic({ config, isWorker }),
    },
    actions: {
      'definitions.accept': acceptAction(definitions),
      'questions.answer': answerAction(deskOf),
      'tools.call': callAction(() => routes.union.fetch),
    },
    scope: () => routes.union.assembly.scope,
    logger,
    login,
    changed: ({ viewer: { role, principal }, ...change }) => {
      audit?.changed({ ...change, role, by: principal })
      logger().info({ ...change, role }, 'A change was made in the console.')
    },
  })
  desk.serve()
  return desk
}

function fleetOf(routes: Routes): OverviewParts['routes'] {
  return {
    get address() {
      return routes.address
    },
    get underWay() {
      return routes.underWay
    },
    get missing() {
      return routes.missingOthers.map(({ address, why }) => ({ address, why }))
    },
  }
}
