/**
 * Follows one task to its end: polls it, reports its status, and answers what it asks. Following ends when the task ends,
 * when its time to live or the caller's patience is over, after too many rounds or failures, or when it is stopped.
 */
import { CODES, type Json, sleep } from '../../protocol/index.ts'
import { ClientError, SEE_CAUSE } from '../errors.ts'
import { isTransient, ServerFault } from '../layer/ownRequests.ts'
import type { Answered } from '../questions/answerAll.ts'
import type { Questions } from '../questions/inputRequests.ts'
import { assertRoundLimit } from '../questions/limits.ts'
import type { TaskDialect } from './dialects.ts'
import { type Batch, TaskQuestions } from './questions.ts'
import { MAX_TRIES, pauseBeforePoll, pauseBeforeRetry, TaskDeadline } from './schedule.ts'
import { finalResult, invalidTask, isOver, type Task, type TaskErrorObject } from './task.ts'

export type TaskOutcome =
  | { readonly kind: 'completed'; readonly result: Json }
  | { readonly kind: 'failed'; readonly error: TaskErrorObject }
  /** Questions that the caller has to answer itself. */
  | { readonly kind: 'asks'; readonly questions: Questions }
  /** Questions that were left for later, and the answers to the others. */
  | { readonly kind: 'suspended'; readonly round: Answered }

interface PollerOptions {
  readonly maxRounds: number
  readonly patienceMs: number
  /** Called with each change of the status or the status message. */
  readonly onChange: (task: Task) => void
  /** Asks the questions of the task; undefined if the caller has to answer them itself. */
  readonly ask: (questions: Questions, signal: AbortSignal) => Promise<Answered> | undefined
}

export class TaskPoller {
  readonly #options: PollerOptions
  readonly #dialect: TaskDialect
  readonly #questions = new TaskQuestions()
  readonly #wakeSignal = new WakeSignal()
  readonly #stopped = new AbortController()
  readonly #deadline: TaskDeadline
  /** The last known state of the task. */
  #latest: Task | undefined
  /** The end of asking, if that ends the following. */
  #decided: (() => TaskOutcome) | undefined
  #polls = 0
  #rounds = 0

  constructor(dialect: (onChange: () => void) => TaskDialect, options: PollerOptions) {
    this.#dialect = dialect(this.#wakeSignal.wake)
    this.#options = options
    this.#deadline = new TaskDeadline(options.patienceMs)
  }

  get dialect(): TaskDialect {
    return this.#dialect
  }

  /** Polls now instead of after the pause, because something may have changed. */
  pollNow(): void {
    this.#wakeSignal.wake()
  }

  stop(): void {
    this.#stopped.abort(new Error('The task is no longer followed.'))
  }

  /**
   * Follows the task. `first` is the task as the call was answered with it, if this process made the call; `answers` are
   * answers that were given elsewhere and are to be sent first.
   */
  async run(first: Task | undefined, answers?: Readonly<Record<string, Json>>): Promise<TaskOutcome> {
    try {
      if (answers !== undefined) await this.#send(answers)
      let task = first === undefined ? await this.#poll() : await this.#afterFirst(first)
      for (;;) {
        const outcome = this.#react(task)
        if (outcome !== undefined) return outcome
        task = await this.#next(task)
        if (this.#decided !== undefined) return this.#decided()
      }
    } finally {
      this.stop()
    }
  }

  /** The response to a call has only the status. Questions, a result or an error need another request. */
  async #afterFirst(first: Task): Promise<Task> {
    this.#remember(first)
    return first.status === 'working' ? this.#next(first) : this.#poll()
  }

  /** Reports the status and asks the task's questions. Returns the outcome when there is one. */
  #react(task: Task): TaskOutcome | undefined {
    this.#remember(task)
    switch (task.status) {
      case 'completed':
        return { kind: 'completed', result: finalResult(task.result ?? {}) }
      case 'failed':
        if (task.error === undefined) throw invalidTask('it has failed and has no error')
        return { kind: 'failed', error: task.error }
      case 'cancelled':
        throw new ClientError('TASK_CANCELLED', 'The task was cancelled before it was done.')
      case 'working':
      case 'input_required':
        return this.#ask(this.#questions.next(task))
      default:
        return task.status satisfies never
    }
  }

  #remember(task: Task): void {
    const before = this.#latest
    this.#latest = task
    if (before === undefined || isOther(before, task)) this.#options.onChange(task)
  }

  #ask(batch: Batch | undefined): TaskOutcome | undefined {
    if (batch === undefined) return undefined
    assertRoundLimit(++this.#rounds, this.#options.maxRounds, 'task')
    const signal = AbortSignal.any([batch.signal, this.#stopped.signal])
    const asking = this.#options.ask(batch.questions, signal)
    if (asking === undefined) return { kind: 'asks', questions: batch.questions }
    void this.#answer(asking, signal)
    return undefined
  }

  async #answer(asking: Promise<Answered>, signal: AbortSignal): Promise<void> {
    try {
      const round = await asking
      if (signal.aborted) return
      if (Object.keys(round.open).length === 0) await this.#send(round.answers)
      else this.#decide(() => ({ kind: 'suspended', round }))
    } catch (error) {
      if (signal.aborted) return
      this.#decide(() => {
        throw isSelfExplaining(error) ? error : unanswered(error)
      })
    }
  }

  #decide(outcome: () => TaskOutcome): void {
    this.#decided = outcome
    this.#wakeSignal.wake()
  }

  async #send(answers: Readonly<Record<string, Json>>): Promise<void> {
    this.#questions.answered(Object.keys(answers))
    try {
      await this.#withRetries((signal) => this.#dialect.answer(answers, signal))
    } catch (error) {
      // The task no longer asks, or no longer exists. The next poll shows which.
      if (!(error instanceof ServerFault) || error.code !== CODES.INVALID_PARAMS) throw error
    }
  }

  /** Waits for the next poll, and gives the task as it is then. */
  async #next(task: Task): Promise<Task> {
    const pauseMs = pauseBeforePoll(task, this.#polls++)
    await this.#wakeSignal.wait(Math.max(0, Math.min(pauseMs, this.#deadline.leftMs(task))), this.#stopped.signal)
    if (this.#decided !== undefined) return task
    const isLast = this.#deadline.leftMs(task) <= 0
    const next = await this.#poll()
    if (isLast && !isOver(next)) throw this.#deadline.overdue(next)
    return next
  }

  async #poll(): Promise<Task> {
    try {
      return await this.#withRetries((signal) => this.#dialect.follow(signal))
    } catch (error) {
      const isUnknown = error instanceof ServerFault && error.code === CODES.INVALID_PARAMS
      if (isUnknown && this.#latest !== undefined && this.#deadline.isExpired(this.#latest)) {
        throw this.#deadline.overdue(this.#latest)
      }
      throw error
    }
  }

  /** Tries again after failures that may pass: a server that restarts still has its tasks. */
  async #withRetries<Result>(run: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    const { signal } = this.#stopped
    for (let tries = 1; ; tries++) {
      try {
        return await run(signal)
      } catch (cause) {
        signal.throwIfAborted()
        if (!isTransient(cause)) throw isSelfExplaining(cause) ? cause : unreachable(cause)
        if (tries === MAX_TRIES) throw unreachable(cause)
      }
      await sleep(pauseBeforeRetry(tries), signal)
    }
  }
}

/** Whether an error can go to the caller as it is. */
function isSelfExplaining(error: unknown): boolean {
  return error instanceof ClientError || error instanceof ServerFault
}

/** Whether the status, its message or the progress differs. */
function isOther(one: Task, other: Task): boolean {
  if (one.status !== other.status || one.statusMessage !== other.statusMessage) return true
  return one.progress?.progress !== other.progress?.progress || one.progress?.total !== other.progress?.total
}

function unanswered(cause: unknown): ClientError {
  return new ClientError('ANSWER_FAILED', `A question of the task could not be answered. ${SEE_CAUSE}`, { cause })
}

function unreachable(cause: unknown): ClientError {
  const sentence = `The task could not be polled or answered. It may continue, and may already have had effects: follow it by error.data.taskId, or look before you call again. ${SEE_CAUSE}`
  return new ClientError('TASK_UNREACHABLE', sentence, { cause })
}

/** A pause that `wake` ends. A `wake` outside of a pause ends the next one. */
class WakeSignal {
  #woken = new AbortController()

  readonly wake = (): void => this.#woken.abort()

  /** Rejects with the signal's reason as soon as it is aborted. */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    await sleep(ms, AbortSignal.any([signal, this.#woken.signal])).catch(() => undefined)
    this.#woken = new AbortController()
    signal.throwIfAborted()
  }
}
