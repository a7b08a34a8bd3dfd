/**
 * Converts between the journal of a task and the rows in which engines store it.
 *
 * - A key is used on the wire once in the life of a task. A question that is asked again gets a new key.
 * - The latest of several rows with the same handler's key counts. An answer may still fail validation in the run, so
 *   an answered question also counts as asked before.
 * - The rows of a key show how often its text has changed, and all rows the number of questions.
 */
import type { AnsweredBy, Journal } from '../journal/index.ts'
import type { Json } from '../protocol/index.ts'
import type { TaskRecord } from './engine.ts'

/** A question that was sent to the owner, as engines store it. */
export interface QuestionRow {
  /** The handler's key. */
  readonly key: string
  /** Fingerprint of the question; undefined if it is not pinned. */
  readonly question: string | undefined
  /** How often it has been asked, including this time. */
  readonly times: number
  /** Undefined until it is answered. */
  readonly response: Json | undefined
  /** Who answered, if recorded. */
  readonly by?: AnsweredBy | undefined
}

export interface StepRow {
  readonly key: string
  /** An empty object stands for undefined. */
  readonly result: { readonly value?: unknown }
}

export interface JournalRows {
  /** The id of the call that became the task. */
  readonly call: string
  /** The number of rounds, before and after the call became a task. */
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
  for (const { key, question, times, response, by } of asks) {
    const { changes = 0, earlier = 0, ...before } = journal.open.get(key) ?? { question, earlier: journal.open.size }
    journal.open.set(key, { question, times, changes: changes + Number(before.question !== question), earlier })
    if (response === undefined) journal.answers.delete(key)
    else journal.answers.set(key, { question, response, ...(by !== undefined && { by }) })
  }
  return journal
}

/** The answers from before the call became a task, as rows under the handler's keys. */
export function answeredBefore({ answers, open }: Journal): QuestionRow[] {
  return Array.from(answers, ([key, { question, response, by }]) => {
    return { key, question, times: open.get(key)?.times ?? 1, response, by }
  })
}

/**
 * Maximum number of times that an engine repeats a question because of malformed answers. After that the run decides
 * whether to ask again; otherwise a client could make a task grow without limit.
 */
export const MAX_AUTOMATIC_REPEATS = 5

/**
 * The key of the next question on the wire: the handler's key if this task has not used it, else the first free one of
 * `key~2`, `key~3`… `asked`: the number of questions under the handler's key so far.
 */
export function nextWireKey(key: string, asked: number, isTaken: (wireKey: string) => boolean): string {
  for (let number = asked + 1; ; number++) {
    const wireKey = number === 1 ? key : `${key}~${number}`
    if (!isTaken(wireKey)) return wireKey
  }
}

/** The repeated questions: the handler's keys by the keys on the wire. */
export function handlerKeysOf(
  keys: readonly (readonly [wireKey: string, key: string])[],
): Pick<TaskRecord, 'handlerKeys'> {
  const again = keys.filter(([wireKey, key]) => wireKey !== key)
  return again.length === 0 ? {} : { handlerKeys: new Map(again) }
}
