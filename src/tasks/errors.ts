import { CodedError } from '../protocol/index.ts'

/** Every error code of task stores and their workers. `docs/reference/errors.md` says what to do about each. */
export const TASK_CODES = [
  'LEASE_LOST',
  'TASK_ENTRY_TOO_LARGE',
  'TASK_CURSOR_UNKNOWN',
  'TASK_OPTION',
  'TASK_LIMIT',
] as const

export type TaskCode = (typeof TASK_CODES)[number]

/** The one error of this folder. Its message says what to do and never holds arguments, answers or results. */
export class TaskError extends CodedError<TaskCode> {
  override readonly name = 'TaskError'
}

/** The reason why a lease is over. */
export type LossReason = 'ended' | 'taken' | 'cancelled' | 'expired' | 'closed'

const LOSSES: Record<LossReason, string> = {
  ended: 'The run or its task has ended; nothing more is written.',
  taken: 'This worker was silent for too long and another worker has its task; nothing more is written.',
  cancelled: 'The task was cancelled; nothing more is written.',
  expired: 'The TTL of the task is over; nothing more is written.',
  closed: 'The task store was closed and the task returned to the queue; nothing more is written.',
}

export function leaseLost(reason: LossReason): TaskError {
  return new TaskError('LEASE_LOST', LOSSES[reason])
}

/** The failure of a task that is charged with the loss of more than `maxLosses` workers. */
export const LOST_TOO_OFTEN =
  'The task has lost its worker too often without progress and has failed; its tool may crash the process.'

/** The failure of a task with damaged rows. Such a task has to end, or workers would claim it again and again. */
export const UNREADABLE = 'The stored data of this task is damaged and cannot be read.'

export function entryTooLarge(what: string, bytes: number, maxBytes: number): TaskError {
  const advice = 'store it elsewhere and keep its address, or raise maxEntryBytes'
  return new TaskError(
    'TASK_ENTRY_TOO_LARGE',
    `${what} has ${bytes} bytes of JSON and the limit is ${maxBytes}; ${advice}.`,
  )
}

export function cursorUnknown(): TaskError {
  return new TaskError(
    'TASK_CURSOR_UNKNOWN',
    'The task that the cursor names no longer exists; list from the beginning.',
  )
}

export function tooManyTasks(who: string, limit: number): TaskError {
  return new TaskError(
    'TASK_LIMIT',
    `${who} ${limit} unfinished tasks, which is the limit; wait until one has ended or cancel one, or raise maxTasksPerCaller.`,
  )
}

export function isLeaseLost(error: unknown): boolean {
  return error instanceof TaskError && error.code === 'LEASE_LOST'
}
