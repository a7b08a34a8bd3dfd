/** What the parts of a SQLite engine share: the open file, and what tells this engine from others that use it. */
import type { DatabaseSync, SQLOutputValue } from 'node:sqlite'
import type { Logger } from '../../server/index.ts'
import type { EngineSettings } from '../engine.ts'
import type { WriteQueue } from './writeQueue.ts'

export interface SqliteTaskStore {
  readonly database: DatabaseSync
  readonly writes: WriteQueue
  /** As JSON, like every text that others choose. */
  readonly audience: string
  readonly settings: EngineSettings
  /** Whole milliseconds since 1970. */
  readonly now: () => number
  readonly logger: () => Logger
}

export type SqliteRow = Record<string, SQLOutputValue>

/** For the WHERE of whoever looks for tasks: the time of these is not over. Wants the time. */
export const NOT_EXPIRED = '(expires_at IS NULL OR expires_at > ?)'

/** For the WHERE of whoever takes tasks: nobody works on these, and somebody should. */
export const READY = `status = 'working' AND worker IS NULL`

export function textOrNull(value: string | undefined): string | null {
  return value === undefined ? null : JSON.stringify(value)
}
