/** Every way a task store or its workers can fail by themselves. `docs/errors.md` says what to do about each. */
export const TASK_CODES = ['LEASE_LOST', 'TASK_ENTRY_TOO_LARGE', 'TASK_CURSOR_UNKNOWN', 'TASK_OPTION'] as const

export type TaskCode = (typeof TASK_CODES)[number]

/** The one error of this folder. Its message says what to do and never holds arguments, answers or results. */
export class TaskError extends Error {
  override readonly name = 'TaskError'
  readonly code: TaskCode

  constructor(code: TaskCode, message: string, options?: ErrorOptions) {
    super(message, options)
    this.code = code
  }
}

/** Why a run is over before its end. */
export type LossReason = 'ended' | 'taken' | 'cancelled' | 'expired' | 'closed'

const LOSSES: Record<LossReason, string> = {
  ended: 'The run or its task has ended; nothing more is written.',
  taken: 'This worker was silent for too long and its task was given to another; nothing more is written.',
  cancelled: 'The task was cancelled; nothing more is written.',
  expired: 'The task has outlived its TTL; nothing more is written.',
  closed: 'The task store was closed and the task given back; nothing more is written.',
}

export function leaseLost(reason: LossReason): TaskError {
  return new TaskError('LEASE_LOST', LOSSES[reason])
}

/** Of a task that is given up because nobody gets through it. */
export const LOST_TOO_OFTEN =
  'The task has lost its worker too often without any progress and was given up; something in it may end its process.'

/** Of a task that is given up because it is damaged: it would be taken again and again. */
export const UNREADABLE = 'What is stored of this task cannot be read any more.'

export function entryTooLarge(what: string, bytes: number, maxBytes: number): TaskError {
  const advice = 'keep it elsewhere and store its address, or raise maxEntryBytes'
  return new TaskError(
    'TASK_ENTRY_TOO_LARGE',
    `${what} has ${bytes} bytes of JSON, at most ${maxBytes} fit; ${advice}.`,
  )
}

export function cursorUnknown(): TaskError {
  return new TaskError(
    'TASK_CURSOR_UNKNOWN',
    'The task to go on after is not there (any more); list from the beginning.',
  )
}

export function isLeaseLost(error: unknown): boolean {
  return error instanceof TaskError && error.code === 'LEASE_LOST'
}
