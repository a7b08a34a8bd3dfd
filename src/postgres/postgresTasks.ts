import type { Tasks } from '../server/index.ts'
import { type DeskOptions, type EngineOptions, tasksOn } from '../tasks/internal.ts'
import type { PostgresConnection } from './connection.ts'
import { postgresEngine } from './tasks/engine.ts'

export type PostgresTasksOptions = DeskOptions & EngineOptions

/** Tasks in PostgreSQL, for any number of machines. A dead machine's tasks are taken over by the others. */
export function postgresTasks(connection: PostgresConnection, options: PostgresTasksOptions = {}): Tasks {
  return tasksOn(postgresEngine(connection, options), options)
}
