/**
 * What one task asks, by key: each is asked once and answered once, however often and in whatever order the task is
 * seen. A question that is not open any more, because somebody else answered it, is taken back.
 */
import type { InputRequest } from '@modelcontextprotocol/client'
import { digestOf } from '../../state/internal.ts'
import type { Questions } from '../questions/inputRequests.ts'
import { invalid, type Task } from './task.ts'
import { DEAF_LOOKS, DEAF_MS } from './schedule.ts'

/** Questions that were asked together. */
export class Batch {
  readonly questions: Questions
  readonly #takenBack = new AbortController()

  constructor(questions: Questions) {
    this.questions = questions
  }

  get signal(): AbortSignal {
    return this.#takenBack.signal
  }

  takeBack(): void {
    this.#takenBack.abort(new Error('The question was answered elsewhere, or nobody needs the answer any more.'))
  }
}

interface Seen {
  /** What was asked; undefined where that was in another process. */
  readonly mark: string | undefined
  /** Undefined once the answer is on its way. */
  batch: Batch | undefined
}

export class TaskQuestions {
  readonly #seen = new Map<string, Seen>()
  readonly #deafness = new Deafness()

  /** The new ones, as one batch; undefined when there are none. Throws for a server that breaks the rules of keys. */
  next(task: Task): Batch | undefined {
    if (task.status === 'input_required' && task.inputRequests === undefined) return undefined
    const open = Object.entries(task.inputRequests ?? {})
    this.#takeBackAllBut(new Set(open.map(([key]) => key)))
    const fresh = open.filter(([key, request]) => this.#isNew(key, request))
    this.#deafness.judge(open.length > 0 && open.every(([key]) => this.#isAnswered(key)))
    if (fresh.length === 0) return undefined
    const batch = new Batch(fresh)
    for (const [key, request] of fresh) this.#seen.set(key, { mark: markOf(request), batch })
    return batch
  }

  /** Their answers are on their way: from here on nothing is asked again. */
  answered(keys: Iterable<string>): void {
    for (const key of keys) this.#seen.set(key, { mark: this.#seen.get(key)?.mark, batch: undefined })
  }

  #isNew(key: string, request: InputRequest): boolean {
    const seen = this.#seen.get(key)
    if (seen === undefined) return true
    if (seen.mark !== undefined && seen.mark !== markOf(request)) throw invalid('it asks two things under one key')
    return false
  }

  #takeBackAllBut(open: ReadonlySet<string>): void {
    for (const batch of new Set(Array.from(this.#seen.values(), (seen) => seen.batch))) {
      if (batch === undefined || batch.questions.some(([key]) => open.has(key))) continue
      batch.takeBack()
      for (const [key] of batch.questions) this.#seen.delete(key)
    }
  }

  #isAnswered(key: string): boolean {
    const seen = this.#seen.get(key)
    return seen !== undefined && seen.batch === undefined
  }
}

/** An answer may take a while to show. Not for ever. */
class Deafness {
  #looks = 0
  #since = 0

  judge(isDeaf: boolean): void {
    this.#looks = isDeaf ? this.#looks + 1 : 0
    if (this.#looks === 1) this.#since = performance.now()
    const isLong = this.#looks > DEAF_LOOKS && performance.now() - this.#since > DEAF_MS
    if (isLong) throw invalid('it still asks what was answered long ago')
  }
}

function markOf(request: InputRequest): string {
  try {
    return digestOf(request)
  } catch {
    throw invalid('one of its questions nests too deeply')
  }
}
