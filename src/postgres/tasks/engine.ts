/** The task engine in PostgreSQL, for any number of machines. */
import { assertOptionNames, optionsNamed } from '../../protocol/index.ts'
import type { Tasks } from '../../server/index.ts'
import {
  createTasks,
  ENGINE_OPTIONS,
  type EngineOptions,
  engineSettings,
  SERVICE_OPTIONS,
  sqlEngine,
  type TaskEngine,
  type TaskServiceOptions,
} from '../../tasks/internal.ts'
import { databaseOf, type PostgresConnection } from '../database.ts'
import { PostgresDriver } from './driver.ts'

export type PostgresTasksOptions = TaskServiceOptions & EngineOptions

/** Tasks in PostgreSQL, for any number of machines. Other machines reclaim the tasks of one that dies. */
export function postgresTasks(connection: PostgresConnection, options: PostgresTasksOptions = {}): Tasks {
  assertOptionNames(options, { ...ENGINE_OPTIONS, ...SERVICE_OPTIONS }, 'postgresTasks')
  const engine = postgresEngine(connection, optionsNamed<EngineOptions>(options, ENGINE_OPTIONS))
  return createTasks(engine, optionsNamed<TaskServiceOptions>(options, SERVICE_OPTIONS))
}

/** A task engine on a connection that can be shared. Closing the engine leaves the connection open. */
export function postgresEngine(connection: PostgresConnection, options: EngineOptions = {}): TaskEngine {
  assertOptionNames(options, ENGINE_OPTIONS, 'postgresEngine')
  const database = databaseOf(connection)
  const settings = engineSettings(options)
  return sqlEngine(settings, async () => {
    await database.ready()
    return new PostgresDriver(database, settings)
  })
}
