/** The shared parts of an engine: the driver, the audience, the settings, and the conditions of statements. */
import type { Logger } from '../../server/index.ts'
import type { EngineSettings } from '../engine.ts'
import type { Dialect, TaskDriver } from './driver.ts'

export interface TaskStore {
  readonly driver: TaskDriver
  readonly sql: Dialect
  readonly audience: string
  /** The names of the channels by which people are notified of questions. */
  readonly channels: readonly string[]
  readonly settings: EngineSettings
  readonly logger: () => Logger
}

/** The key of a name within the audience: of a task by its id, a tool, an owner, a holder or a member. */
export function keyOf({ driver, audience }: TaskStore, text: string): string {
  return driver.key(audience, text)
}

/** The key of calls that are the same, of one owner. */
export function sameKey({ driver, audience }: TaskStore, owner: string, same: string): string {
  return driver.key(audience, owner, same)
}

/** A condition on `tasks AS t`: the task has not expired. */
export function notExpired({ now }: Dialect): string {
  return `(t.expires_at IS NULL OR t.expires_at > ${now})`
}

/** A condition on `tasks AS t` and `questions AS q`: the question can be answered. */
export function isOpen({ now }: Dialect): string {
  return `q.state = 'open' AND t.status = 'input_required' AND (q.expires_at IS NULL OR q.expires_at > ${now})`
}

/** A condition on `tasks AS t`: the task is ready and not a suspect. It is the condition of the partial indexes. */
export const READY = `t.status = 'working' AND t.worker IS NULL AND t.attempts < 2`

/** A condition on `tasks AS t`: the task is ready and a suspect, see `attempts.ts`. */
export const SUSPECT = `t.status = 'working' AND t.worker IS NULL AND t.attempts >= 2`

/** Assignments: no worker holds the task. */
export const RELEASED = 'worker = NULL, alone = 0'

/** Assignments: the owner of the task sees a change. */
export function touched({ now, counted }: Dialect): string {
  return `version = version + 1, updated_at = CASE WHEN updated_at > ${now} THEN updated_at ELSE ${now} END${counted}`
}

/** SQL for the expiry of a task that ends now: the end of its TTL, or without one after `keepMs`, a parameter. */
export function keptUntil({ now }: Dialect, keepMs: string): string {
  return `coalesce(expires_at, ${now} + CAST(${keepMs} AS bigint))`
}

/**
 * Caches the text of a statement for each store: building it, and finding the prepared statement of a new string, costs
 * more than binding the values.
 */
export function statement(write: (store: TaskStore) => string): (store: TaskStore) => string {
  const texts = new WeakMap<TaskStore, string>()
  return (store) => {
    let text = texts.get(store)
    if (text === undefined) texts.set(store, (text = write(store)))
    return text
  }
}
