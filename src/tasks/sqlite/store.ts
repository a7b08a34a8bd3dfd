/** What the parts of a SQLite engine share: the open file, its write queue, the audience and the settings. */
import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import type { Logger } from '../../server/index.ts'
import type { EngineSettings } from '../engine.ts'
import type { WriteQueue } from './writeQueue.ts'

export interface SqliteTaskStore {
  readonly database: DatabaseSync
  readonly writes: WriteQueue
  /** As JSON text, like all text from outside. */
  readonly audience: string
  readonly settings: EngineSettings
  /** Whole milliseconds since 1970. */
  readonly now: () => number
  readonly logger: () => Logger
}

export type SqliteRow = Record<string, SQLOutputValue>

/** A condition for WHERE: the task has not expired. Its parameter is the current time. */
export const NOT_EXPIRED = '(expires_at IS NULL OR expires_at > ?)'

/** A condition for WHERE: the task is ready and no worker holds it. */
export const READY = `status = 'working' AND worker IS NULL`

/** A condition for WHERE: the task has not ended. */
export const UNFINISHED = `status IN ('working', 'input_required')`

/** What a claim reads of a task. */
export const CLAIM_COLUMNS = 'number, id, tool, call, round, epoch, losses, crashes, expires_at'
