/** What both dialects of the `tasks/…` methods share. */
import { hash } from 'node:crypto'
import { type Json, ProtocolError } from '../../protocol/index.ts'
import type { Call, TaskHost } from '../../server/index.ts'
import type { TaskEngine, TaskRecord } from '../engine.ts'
import { TaskError } from '../errors.ts'

export interface DialectOptions {
  readonly host: TaskHost
  /** Resolves with the engine once it is open. */
  readonly engine: () => Promise<TaskEngine>
  readonly pollMs: number
}

/** Reports a TaskError as invalid parameters: an entry that is too large, or an unknown cursor. */
export async function withClientErrors<T>(work: Promise<T>): Promise<T> {
  try {
    return await work
  } catch (error) {
    if (!(error instanceof TaskError)) throw error
    throw new ProtocolError('PARAMS_INVALID', error.message)
  }
}

/** A task of the caller. An unknown id and the id of another caller's task give the same error. */
export async function ownTask({ engine }: DialectOptions, call: Call, id: string): Promise<TaskRecord> {
  return assertKnown(await (await engine()).read(id, ownerOf(call)))
}

export function assertKnown(task: TaskRecord | undefined): TaskRecord {
  if (task !== undefined) return task
  throw new ProtocolError('PARAMS_INVALID', 'There is no task with this id, or it has expired.')
}

export function taskIdIn({ taskId }: Json): string {
  if (typeof taskId === 'string' && taskId.length > 0 && taskId.length <= 512 && taskId.isWellFormed()) return taskId
  throw new ProtocolError('PARAMS_INVALID', '"params.taskId" must be the id of a task.')
}

export function iso(ms: number): string {
  return new Date(ms).toISOString()
}

/** A digest of the principal; empty on a server without authentication, where knowing a task's id is enough. */
export function ownerOf({ principal }: Pick<Call, 'principal'>): string {
  return principal === undefined ? '' : hash('sha256', principal.id, 'base64url')
}
