/** What the parts of an engine share: the database, its queues, and what tells this engine from others that use it. */
import type { Logger } from '../../server/index.ts'
import type { EngineSettings } from '../../tasks/internal.ts'
import type { Database } from '../database.ts'
import { digest } from '../digest.ts'
import type { JobQueues } from './queue.ts'
import type { Sql } from '../sql.ts'

export interface PostgresTaskStore {
  readonly database: Database
  readonly jobs: JobQueues
  readonly audience: string
  readonly settings: EngineSettings
  readonly logger: () => Logger
}

/** What a task is found by. A foreign one is not found by the same work as one that never was. */
export interface TaskRef {
  readonly address: Buffer
  readonly owner: Buffer
}

export function addressDigest({ audience }: PostgresTaskStore, id: string): Buffer {
  return digest(audience, id)
}

export function ownerDigest({ audience }: PostgresTaskStore, owner: string): Buffer {
  return digest(audience, owner)
}

export function taskRef(store: PostgresTaskStore, id: string, owner: string): TaskRef {
  return { address: addressDigest(store, id), owner: ownerDigest(store, owner) }
}

/** For the WHERE of whoever looks for tasks, `tasks AS t`: the time of these is not over. */
export const NOT_EXPIRED = '(t.expires_at IS NULL OR t.expires_at > now())'

/** For the SET of whoever lets a task rest: nobody holds it, it has no job, and its owner sees a change. */
export const RELEASED = 'held = false, job = NULL, version = t.version + 1, updated_at = now()'

/** Until when a task is kept that ends now: to the end of its TTL, or for so many milliseconds. */
export function keptUntil(keepMs: string): string {
  return `coalesce(t.expires_at, now()::timestamptz(3) + ${keepMs}::float8 * interval '1 millisecond')`
}

// A busy process is not a frozen one.
const SHORTEST_IDLE_MS = 1000

/** All that `run` does happens, or nothing. Whoever is held up in it does not keep others from taking over in time. */
export function transaction<Result>({ database, settings }: PostgresTaskStore, run: (sql: Sql) => Promise<Result>) {
  return database.transaction(Math.max(settings.leaseMs / 2, SHORTEST_IDLE_MS), run)
}
