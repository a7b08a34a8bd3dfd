/** The parts of the `tasks/…` methods that both dialects share. */
import { hash } from 'node:crypto'
import { answererOf } from '../../journal/index.ts'
import { hasEnded, type Json, progressMeta, ProtocolError } from '../../protocol/index.ts'
import type { Call, TaskHost } from '../../server/index.ts'
import type { TaskEngine, TaskRecord } from '../engine.ts'
import { TaskError } from '../errors.ts'
import { answerableBy, assertAnswerable, type FoundTask, sortAnswers } from './view.ts'

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

/** A task that the caller may see. An unknown id and the id of another caller's task give the same error. */
export async function findTask({ engine, host }: DialectOptions, call: Call, id: string): Promise<FoundTask> {
  const store = await engine()
  const own = await store.read(id, ownerOf(call))
  if (own !== undefined) return { task: own, isOwner: true }
  const other = call.principal === undefined ? undefined : await store.awaiting(id)
  const found = { task: assertKnown(other), isOwner: false }
  if (answerableBy(found, call, host).size === 0) assertKnown(undefined)
  return found
}

/** Stores the answers of a caller, with its identity. Undefined if the task no longer exists. */
export async function answerTask(
  { engine, host }: DialectOptions,
  call: Call,
  found: FoundTask,
  responses: Json,
): Promise<TaskRecord | undefined> {
  const { task, isOwner } = found
  const answerable = answerableBy(found, call, host)
  if (isOwner) {
    host.assertMayCall(call, task.tool)
    assertAnswerable(task, answerable, responses)
  }
  const answers = { ...sortAnswers(answerable, responses), by: answererOf(call.principal), way: 'client' as const }
  const store = await engine()
  return withClientErrors(store.answer(task.id, isOwner ? ownerOf(call) : undefined, answers))
}

export function assertKnown(task: TaskRecord | undefined): TaskRecord {
  if (task !== undefined) return task
  throw new ProtocolError('PARAMS_INVALID', 'There is no task with this id, or it has expired.')
}

export function taskIdIn({ taskId }: Json): string {
  if (typeof taskId === 'string' && taskId.length > 0 && taskId.length <= 512 && taskId.isWellFormed()) return taskId
  throw new ProtocolError('PARAMS_INVALID', '"params.taskId" must be the id of a task.')
}

/** The progress of a task that has not ended, for its `_meta`. */
export function progressOf({ status, progress }: TaskRecord): Json {
  return progress === undefined || hasEnded(status) ? {} : { _meta: progressMeta(progress) }
}

export function iso(ms: number): string {
  return new Date(ms).toISOString()
}

/** A digest of the principal; empty on a server without authentication, where knowing a task's id is enough. */
export function ownerOf({ principal }: Pick<Call, 'principal'>): string {
  return principal === undefined ? '' : digestOf(principal.id)
}

/** The digest of a caller's name. Names are only compared, so the store need not reveal them. */
export function digestOf(name: string): string {
  return hash('sha256', name, 'base64url')
}
