/** What the parts of a PostgreSQL engine share: the database, its queues, the audience and the settings. */
import type { Logger } from '../../server/index.ts'
import type { EngineSettings } from '../../tasks/internal.ts'
import type { Database } from '../database.ts'
import { digest } from '../digest.ts'
import type { JobQueues } from './queue.ts'
import { type Sql, STATEMENT_MS } from '../sql.ts'

export interface PostgresTaskStore {
  readonly database: Database
  readonly jobs: JobQueues
  readonly audience: string
  readonly settings: EngineSettings
  readonly logger: () => Logger
}

/** The digests by which a task is found. Not finding another owner's task takes the same work as any unknown id. */
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

/** A condition for WHERE, on `tasks AS t`: the task has not expired. */
export const NOT_EXPIRED = '(t.expires_at IS NULL OR t.expires_at > now())'

// A shorter timeout would also hit a process that is only busy.
const MIN_IDLE_MS = 1000

/** Runs a transaction. If this process freezes inside it, PostgreSQL rolls it back in time for others to reclaim the task. */
export function transaction<Result>({ database, settings }: PostgresTaskStore, run: (sql: Sql) => Promise<Result>) {
  const idleMs = Math.max(settings.leaseMs / 2, MIN_IDLE_MS)
  return database.transaction({ idleMs, statementMs: statementMs(settings) }, run)
}

/** Runs each statement in a transaction of its own. */
export function statements({ database, settings }: PostgresTaskStore): Promise<Sql> {
  return database.statements(statementMs(settings))
}

// Large entries take longer; this is for a megabyte a second.
function statementMs({ maxEntryBytes }: EngineSettings): number {
  return Math.max(STATEMENT_MS, maxEntryBytes / 1000)
}
