/** The task engine in a SQLite file, for all processes of one machine. */
import { assertOptionNames, type OptionNames, optionsNamed } from '../../protocol/index.ts'
import type { Tasks } from '../../server/index.ts'
import { ENGINE_OPTIONS, type EngineOptions, engineSettings, type TaskEngine } from '../engine.ts'
import { createTasks, SERVICE_OPTIONS, type TaskServiceOptions } from '../service/service.ts'
import { sqlEngine } from '../sql/engine.ts'
import { SqliteDriver } from './driver.ts'

export interface SqliteEngineOptions extends EngineOptions {
  /** The file; it is created if it does not exist. `:memory:` is for tests. */
  path: string
  /**
   * The time in milliseconds. Processes that share a file agree on its time and use only the rate of this clock.
   * @default the file's
   */
  clock?: () => number
}

export type SqliteTasksOptions = TaskServiceOptions & SqliteEngineOptions

const SQLITE_OPTIONS: OptionNames<SqliteEngineOptions> = { ...ENGINE_OPTIONS, path: true, clock: true }

/**
 * Tasks in one file, for all processes of one machine. They survive every process: unfinished tasks continue when a
 * server starts, and when another process dies.
 */
export function sqliteTasks(options: SqliteTasksOptions): Tasks {
  assertOptionNames(options, { ...SQLITE_OPTIONS, ...SERVICE_OPTIONS }, 'sqliteTasks')
  if (typeof options.path !== 'string')
    throw new TypeError('sqliteTasks needs the path of a file: { path: "tasks.db" }.')
  const engine = sqliteEngine(optionsNamed<SqliteEngineOptions>(options, SQLITE_OPTIONS))
  return createTasks(engine, optionsNamed<TaskServiceOptions>(options, SERVICE_OPTIONS))
}

/**
 * A task engine in a file. A write waits up to 5 s for the lock of another process, without blocking the event loop. A
 * process that is suspended during a write keeps the lock until it continues or is killed.
 */
export function sqliteEngine(given: SqliteEngineOptions): TaskEngine {
  assertOptionNames(given, SQLITE_OPTIONS, 'sqliteEngine')
  const { path, clock, ...options } = given
  return sqlEngine(engineSettings(options), async () => new SqliteDriver(path, clock))
}
