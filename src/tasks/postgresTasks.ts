import type { Tasks } from '../server/index.ts'
import { tasksOn } from './desk.ts'
import type { DeskOptions } from './deskSettings.ts'
import type { EngineOptions } from './engine.ts'
import type { PostgresConnection } from './postgres/connection.ts'
import { postgresEngine } from './postgres/engine.ts'

export type PostgresTasksOptions = DeskOptions & EngineOptions

/** Tasks in PostgreSQL, for any number of machines. A dead machine's tasks are taken over by the others. */
export function postgresTasks(connection: PostgresConnection, options: PostgresTasksOptions = {}): Tasks {
  return tasksOn(postgresEngine(connection, options), options)
}
