/** Opens the store of the calls that wait for people, as the settings say. */
import { dirname, resolve } from 'node:path'
import type { ServerOptions, ServerQuestions } from '../../server/index.ts'
import { memoryLedger, sqliteLedger } from '../../state/stores/index.ts'
import { sqliteTasks } from '../../tasks/index.ts'
import { UNION_PATH } from '../cluster.ts'
import { channelOf, STORE_IN_POSTGRES } from '../config/index.ts'
import type { GatewayDatabase } from '../database.ts'
import { type GatewayOptions, guardsOf } from '../options.ts'
import { GatewayQuestions, type GatewayQuestionsOptions, type QuestionStore } from './gatewayQuestions.ts'

/** Undefined for a gateway whose calls do not wait. */
export function openQuestions(
  options: GatewayOptions,
  server: ServerOptions,
  database: GatewayDatabase | undefined,
  held: GatewayQuestionsOptions['held'],
): GatewayQuestions | undefined {
  const { approve = [], publicUrl, notify = [] } = options.settings
  const store = questionStoreOf(options, database)
  if (approve.length > 0) assertMayApprove(store !== undefined, server.principal !== undefined)
  if (store === undefined) return undefined
  const url = publicUrl && publicUrl.replace(/\/$/, '') + UNION_PATH
  return new GatewayQuestions({ server, store, url, notify: notify.map(channelOf), held }, guardsOf(options.settings))
}

/** The questions of a gateway, for programs. */
export function listOf(questions: GatewayQuestions | undefined): ServerQuestions {
  if (questions !== undefined) return questions.list
  throw new TypeError('Questions need a store: "store" under "gateway" in the file.')
}

function questionStoreOf(
  { file, ledger, settings: { store } }: GatewayOptions,
  database: GatewayDatabase | undefined,
): QuestionStore | undefined {
  if (store === undefined) return undefined
  if (store === STORE_IN_POSTGRES) {
    if (database === undefined) throw new TypeError(STORE_NEEDS_DATABASE)
    return { tasks: database.tasks, ledger: ledger ?? database.ledger, close() {} }
  }
  const path = file === undefined ? store : resolve(dirname(file), store)
  if (ledger !== undefined) return { tasks: sqliteTasks({ path }), ledger, close() {} }
  if (path === ':memory:') return { tasks: sqliteTasks({ path }), ledger: memoryLedger(), close() {} }
  // A separate file, because tasks and ledgers have different formats.
  const own = sqliteLedger({ path: `${path}-ledger` })
  return { tasks: sqliteTasks({ path }), ledger: own, close: () => own.close() }
}

/** Throws if rules require approvals, but people cannot be asked or cannot answer. */
function assertMayApprove(hasStore: boolean, knowsCallers: boolean): void {
  if (!hasStore) throw new TypeError(NO_STORE)
  if (!knowsCallers) throw new TypeError(NO_APPROVERS)
}

const STORE_NEEDS_DATABASE =
  '"store": "postgres" needs a database: "postgres" under "gateway" in the file, or --postgres URL.'
const NO_STORE =
  'Rules under "approve" let calls wait: give the gateway a "store", such as "questions.db" or "postgres".'
const NO_APPROVERS =
  'Rules under "approve" need approvers who can be distinguished: give the gateway a "principal", by which it knows its callers.'
