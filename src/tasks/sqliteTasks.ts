import type { Tasks } from '../server/index.ts'
import { tasksOn } from './service/service.ts'
import type { DeskOptions } from './service/settings.ts'
import { sqliteEngine, type SqliteEngineOptions } from './sqlite/engine.ts'

export type SqliteTasksOptions = DeskOptions & SqliteEngineOptions

/**
 * Tasks in one file, for all processes of one machine. They survive every process: what was unfinished is taken up when
 * a server starts, and when another one dies.
 */
export function sqliteTasks(options: SqliteTasksOptions): Tasks {
  return tasksOn(sqliteEngine(options), options)
}
