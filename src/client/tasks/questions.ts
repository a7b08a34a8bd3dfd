/**
 * The questions of one task, by key. Each is asked once and answered once, however often the task is seen. A question
 * that is not open any more, because another client answered it, is withdrawn.
 */
import type { InputRequest } from '@modelcontextprotocol/client'
import { digestOf } from '../../state/internal.ts'
import type { Questions } from '../questions/inputRequests.ts'
import { STALE_MS, STALE_POLLS } from './schedule.ts'
import { invalidTask, type Task } from './task.ts'

/** Questions that were asked together. */
export class Batch {
  readonly questions: Questions
  readonly #withdrawn = new AbortController()

  constructor(questions: Questions) {
    this.questions = questions
  }

  get signal(): AbortSignal {
    return this.#withdrawn.signal
  }

  withdraw(): void {
    this.#withdrawn.abort(new Error('The question was answered elsewhere, or is no longer needed.'))
  }
}

interface SeenQuestion {
  /** The digest of the request; undefined if another process asked it. */
  readonly digest: string | undefined
  /** Undefined once the answer is being sent. */
  batch: Batch | undefined
}

export class TaskQuestions {
  readonly #seen = new Map<string, SeenQuestion>()
  readonly #stale = new StaleQuestions()

  /** The new questions, as one batch; undefined when there are none. Throws if a server reuses a key. */
  next(task: Task): Batch | undefined {
    if (task.status === 'input_required' && task.inputRequests === undefined) return undefined
    const open = Object.entries(task.inputRequests ?? {})
    this.#withdrawAllBut(new Set(open.map(([key]) => key)))
    const fresh = open.filter(([key, request]) => this.#isNew(key, request))
    this.#stale.check(open.length > 0 && open.every(([key]) => this.#isAnswered(key)))
    if (fresh.length === 0) return undefined
    const batch = new Batch(fresh)
    for (const [key, request] of fresh) this.#seen.set(key, { digest: digestOfRequest(request), batch })
    return batch
  }

  /** The answers to these keys are being sent, so they are not asked again. */
  answered(keys: Iterable<string>): void {
    for (const key of keys) this.#seen.set(key, { digest: this.#seen.get(key)?.digest, batch: undefined })
  }

  #isNew(key: string, request: InputRequest): boolean {
    const seen = this.#seen.get(key)
    if (seen === undefined) return true
    const isOther = seen.digest !== undefined && seen.digest !== digestOfRequest(request)
    if (isOther) throw invalidTask('it asks two things under one key')
    return false
  }

  #withdrawAllBut(open: ReadonlySet<string>): void {
    for (const batch of new Set(Array.from(this.#seen.values(), (seen) => seen.batch))) {
      if (batch === undefined || batch.questions.some(([key]) => open.has(key))) continue
      batch.withdraw()
      for (const [key] of batch.questions) this.#seen.delete(key)
    }
  }

  #isAnswered(key: string): boolean {
    const seen = this.#seen.get(key)
    return seen !== undefined && seen.batch === undefined
  }
}

/** A server may show a question for a while after it was answered, but not for ever. */
class StaleQuestions {
  #polls = 0
  #since = 0

  check(areAllAnswered: boolean): void {
    this.#polls = areAllAnswered ? this.#polls + 1 : 0
    if (this.#polls === 1) this.#since = performance.now()
    const isLong = this.#polls > STALE_POLLS && performance.now() - this.#since > STALE_MS
    if (isLong) throw invalidTask('it still asks what was answered long ago')
  }
}

function digestOfRequest(request: InputRequest): string {
  try {
    return digestOf(request)
  } catch {
    throw invalidTask('one of its questions nests too deeply')
  }
}
