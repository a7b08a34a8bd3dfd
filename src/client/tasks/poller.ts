/**
 * One task, from where it is first seen to its end: looked at, told of, answered. Every way comes to an end: that of
 * the task, of its time, of the caller's patience; too many rounds or failures; or nobody wants to know any more.
 */
import { CODES, type Json, sleep } from '../../protocol/index.ts'
import { ClientError, SEE_CAUSE } from '../errors.ts'
import { isTransient, ServerFault } from '../layer/ownRequests.ts'
import type { Answered } from '../questions/answerAll.ts'
import type { Questions } from '../questions/inputRequests.ts'
import { assertRounds } from '../questions/limits.ts'
import type { TaskTalk } from './dialects.ts'
import { type Batch, TaskQuestions } from './questions.ts'
import { MAX_TRIES, pauseBeforeLook, pauseBeforeTry, TaskTime } from './schedule.ts'
import { finalResult, invalid, isOver, type Task, type TaskError } from './task.ts'

export type Outcome =
  | { readonly kind: 'completed'; readonly result: Json }
  | { readonly kind: 'failed'; readonly error: TaskError }
  /** Questions that the caller has to answer itself. */
  | { readonly kind: 'asks'; readonly questions: Questions }
  /** Questions that somebody left for later, and what the others answered. */
  | { readonly kind: 'suspended'; readonly round: Answered }

interface FollowingOptions {
  readonly maxRounds: number
  readonly patienceMs: number
  /** Whether changes of the task are told as they happen. */
  readonly isTold: () => boolean
  /** Called with each change of what people see. */
  readonly tell: (task: Task) => void
  /** Undefined where the caller has to answer itself. */
  readonly ask: (questions: Questions, signal: AbortSignal) => Promise<Answered> | undefined
}

export class Following {
  readonly #options: FollowingOptions
  readonly #talk: TaskTalk
  readonly #questions = new TaskQuestions()
  readonly #bell = new Bell()
  readonly #stopped = new AbortController()
  readonly #time: TaskTime
  /** The newest that was seen; the newest that was told, until it is seen. */
  #latest: Task | undefined
  #news: Task | undefined
  /** What came of asking, where that ends it. */
  #verdict: (() => Outcome) | undefined
  #looks = 0
  #rounds = 0

  constructor(talk: (ring: () => void) => TaskTalk, options: FollowingOptions) {
    this.#talk = talk(this.#bell.ring)
    this.#options = options
    this.#time = new TaskTime(options.patienceMs)
  }

  get talk(): TaskTalk {
    return this.#talk
  }

  /** The task as its server tells it by itself. */
  hear(task: Task): void {
    if (isBefore(task, this.#news ?? this.#latest)) return
    this.#news = task
    this.#bell.ring()
  }

  /** Something may have changed: look now. */
  readonly nudge = (): void => this.#bell.ring()

  /** Nobody wants to know any more. */
  stop(): void {
    this.#stopped.abort(new Error('Nobody follows the task any more.'))
  }

  /** From what the call was answered with; from nothing, or from answers that were given elsewhere. */
  async run(first: Task | undefined, answers?: Readonly<Record<string, Json>>): Promise<Outcome> {
    try {
      if (answers !== undefined) await this.#send(answers)
      let task = first === undefined ? await this.#look() : await this.#afterFirst(first)
      for (;;) {
        const outcome = this.#heed(task)
        if (outcome !== undefined) return outcome
        task = await this.#next(task)
        if (this.#verdict !== undefined) return this.#verdict()
      }
    } finally {
      this.stop()
    }
  }

  /** What a call is answered with says only that there is a task. */
  async #afterFirst(first: Task): Promise<Task> {
    this.#see(first)
    return first.status === 'working' ? this.#next(first) : this.#look()
  }

  /** Tells of the task, and asks what it asks. Gives the outcome once there is one. */
  #heed(task: Task): Outcome | undefined {
    this.#see(task)
    switch (task.status) {
      case 'completed':
        return { kind: 'completed', result: finalResult(task.result ?? {}) }
      case 'failed':
        if (task.error === undefined) throw invalid('it has failed and has no error')
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

  #see(task: Task): void {
    const before = this.#latest
    this.#latest = task
    const isNews = before?.status !== task.status || before.statusMessage !== task.statusMessage
    if (isNews) this.#options.tell(task)
  }

  #ask(batch: Batch | undefined): Outcome | undefined {
    if (batch === undefined) return undefined
    assertRounds(++this.#rounds, this.#options.maxRounds, 'task')
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
        throw isTold(error) ? error : unanswered(error)
      })
    }
  }

  #decide(verdict: () => Outcome): void {
    this.#verdict = verdict
    this.#bell.ring()
  }

  async #send(answers: Readonly<Record<string, Json>>): Promise<void> {
    this.#questions.answered(Object.keys(answers))
    try {
      await this.#patiently((signal) => this.#talk.answer(answers, signal))
    } catch (error) {
      // It asks no more, or is gone: the next look tells.
      if (!(error instanceof ServerFault) || error.code !== CODES.INVALID_PARAMS) throw error
    }
  }

  /** The task at its next change, as far as that can be told; or when it is time to look again. */
  async #next(task: Task): Promise<Task> {
    const pauseMs = pauseBeforeLook(task, this.#looks++, this.#options.isTold())
    await this.#bell.wait(Math.max(0, Math.min(pauseMs, this.#time.leftMs(task))), this.#stopped.signal)
    if (this.#verdict !== undefined) return task
    const isLast = this.#time.leftMs(task) <= 0
    const next = this.#takeNews() ?? (await this.#look())
    if (isLast && !isOver(next)) throw this.#time.overdue(next)
    return next
  }

  async #look(): Promise<Task> {
    try {
      const task = await this.#patiently((signal) => this.#talk.follow(signal))
      // What was told meanwhile is not older.
      return this.#takeNews() ?? task
    } catch (error) {
      const isGone = error instanceof ServerFault && error.code === CODES.INVALID_PARAMS
      if (isGone && this.#latest !== undefined && this.#time.isExpired(this.#latest)) {
        throw this.#time.overdue(this.#latest)
      }
      throw error
    }
  }

  #takeNews(): Task | undefined {
    const news = this.#news
    this.#news = undefined
    return news
  }

  /** A server that is away for a while comes back, and its task with it. */
  async #patiently<Result>(run: (signal: AbortSignal) => Promise<Result>): Promise<Result> {
    const { signal } = this.#stopped
    for (let tries = 1; ; tries++) {
      try {
        return await run(signal)
      } catch (cause) {
        signal.throwIfAborted()
        if (!isTransient(cause)) throw isTold(cause) ? cause : unreachable(cause)
        if (tries === MAX_TRIES) throw unreachable(cause)
      }
      await sleep(pauseBeforeTry(tries), signal)
    }
  }
}

/** Whether an error says all there is to say. */
function isTold(error: unknown): boolean {
  return error instanceof ClientError || error instanceof ServerFault
}

function isBefore(task: Task, other: Task | undefined): boolean {
  return Date.parse(task.lastUpdatedAt ?? '') < Date.parse(other?.lastUpdatedAt ?? '')
}

function unanswered(cause: unknown): ClientError {
  return new ClientError('ANSWER_FAILED', `A question of the task could not be answered. ${SEE_CAUSE}`, { cause })
}

function unreachable(cause: unknown): ClientError {
  const sentence = `The server could not be asked how its task is; the task may go on. ${SEE_CAUSE}`
  return new ClientError('TASK_UNREACHABLE', sentence, { cause })
}

/** Waiting for something to happen, or for some time to pass. A ring that nobody waited for counts next time. */
class Bell {
  #isRung = false
  #wake: (() => void) | undefined

  readonly ring = (): void => {
    this.#isRung = true
    this.#wake?.()
  }

  /** Rejects with the signal's reason as soon as it is aborted. */
  async wait(ms: number, signal: AbortSignal): Promise<void> {
    signal.throwIfAborted()
    if (!this.#isRung) await this.#rungWithin(ms, signal)
    this.#isRung = false
    signal.throwIfAborted()
  }

  #rungWithin(ms: number, signal: AbortSignal): Promise<void> {
    return new Promise((resolve) => {
      const wake = (): void => {
        clearTimeout(timer)
        signal.removeEventListener('abort', wake)
        this.#wake = undefined
        resolve()
      }
      const timer = setTimeout(wake, ms)
      this.#wake = wake
      signal.addEventListener('abort', wake, { once: true })
    })
  }
}
