/**
 * The journal of a task, between the rows that engines keep and what a run works with.
 *
 * - A question goes over the wire under the handler's key, once in the life of a task. Asked again, it gets another.
 * - Of the rows of one handler's key the latest counts. An answered one is an answer that may still fail its form, so it
 *   also counts as asked before.
 */
import type { Journal } from '../journal/index.ts'
import type { Json } from '../protocol/index.ts'

/** A question that was put to the owner, as engines keep it. */
export interface QuestionRow {
  /** The handler's key. */
  readonly key: string
  /** Fingerprint of the question; undefined when it is not pinned. */
  readonly question: string | undefined
  /** How often it has been asked, this time included. */
  readonly times: number
  /** Undefined until it is answered. */
  readonly response: Json | undefined
}

export interface StepRow {
  readonly key: string
  /** An empty object stands for undefined. */
  readonly result: { readonly value?: unknown }
}

export interface JournalRows {
  /** Names the call that became the task. */
  readonly call: string
  /** Rounds of the call before it became a task, and after. */
  readonly round: number
  readonly own: unknown
  readonly begunAt: number | undefined
  readonly steps: Iterable<StepRow>
  /** In the order in which they were asked. */
  readonly asks: Iterable<QuestionRow>
}

/** The journal of the next run. */
export function journalOf({ call, round, own, begunAt, steps, asks }: JournalRows): Journal {
  const journal: Journal = { id: call, round, own, begunAt, answers: new Map(), steps: new Map(), open: new Map() }
  for (const { key, result } of steps) journal.steps.set(key, result)
  for (const { key, question, times, response } of asks) {
    journal.open.set(key, { question, times })
    if (response === undefined) journal.answers.delete(key)
    else journal.answers.set(key, { question, response })
  }
  return journal
}

/** What was answered before the call became a task: rows under the handler's own keys. */
export function answeredBefore({ answers, open }: Journal): QuestionRow[] {
  return Array.from(answers, ([key, { question, response }]) => {
    return { key, question, times: open.get(key)?.times ?? 1, response }
  })
}

/**
 * How often a question is put again because its answer cannot be one. After that the task is run, and the run asks again
 * or has had enough: else a client could make a task grow for ever.
 */
export const MAX_AUTOMATIC_REPEATS = 5

/**
 * The key of the next question on the wire: the handler's when this task has not used it, else the first of `key~2`,
 * `key~3`… that is free. `asked` says how often the task has asked under the handler's key: so many are taken.
 */
export function nextWireKey(key: string, asked: number, isTaken: (wireKey: string) => boolean): string {
  for (let number = asked + 1; ; number++) {
    const wireKey = number === 1 ? key : `${key}~${number}`
    if (!isTaken(wireKey)) return wireKey
  }
}
