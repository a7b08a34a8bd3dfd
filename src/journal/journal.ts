/**
 * The memory of one call: what was answered, what was done, what was asked.
 *
 * - Everything is found by key, never by position, so a redeployed handler may ask in another order.
 * - It is plain data. Where it waits between rounds (client, store, database) is a carrier's concern.
 * - Keys are any strings, so they live in Maps and, written down, in pairs: `__proto__` is a key like others.
 */
import { JournalError } from './errors.ts'

interface RecordedAnswer {
  /** Fingerprint of the question this answers; absent when the question was not pinned. */
  readonly question: string | undefined
  readonly response: Readonly<Record<string, unknown>>
}

interface OpenQuestion {
  readonly question: string | undefined
  /** How often it has been asked. */
  readonly times: number
}

export interface Journal {
  /** Unguessable name of the call, the same in all its rounds. */
  readonly id: string
  /** Rounds finished so far. */
  readonly round: number
  readonly answers: Map<string, RecordedAnswer>
  readonly steps: Map<string, { readonly value?: unknown }>
  readonly open: Map<string, OpenQuestion>
  /** What a handler in explicit style chose to remember. */
  own: unknown
  /** When its first round ended, in seconds; undefined before. */
  readonly begunAt: number | undefined
}

interface JournalBody {
  readonly a?: readonly [key: string, question: string | null, response: unknown][]
  readonly s?: readonly ([key: string] | [key: string, value: unknown])[]
  readonly o?: readonly [key: string, question: string | null, times: number][]
  readonly x?: unknown
  readonly b?: number
}

/** An empty journal, by its name or by a function that makes one when it is needed. */
export function newJournal(name: string | (() => string)): Journal {
  return new FreshJournal(name)
}

/** Everything in it is made when first touched: most calls touch nothing. */
class FreshJournal implements Journal {
  readonly round = 0
  readonly begunAt = undefined
  own: unknown = undefined
  #name: string | (() => string)
  #answers: Journal['answers'] | undefined
  #steps: Journal['steps'] | undefined
  #open: Journal['open'] | undefined

  constructor(name: string | (() => string)) {
    this.#name = name
  }

  get answers(): Journal['answers'] {
    this.#answers ??= new Map()
    return this.#answers
  }

  get steps(): Journal['steps'] {
    this.#steps ??= new Map()
    return this.#steps
  }

  get open(): Journal['open'] {
    this.#open ??= new Map()
    return this.#open
  }

  get id(): string {
    if (typeof this.#name === 'function') this.#name = this.#name()
    return this.#name
  }
}

/** The journal as the next round of the same process finds it. */
export function nextRound({ id, round, answers, steps, open, own, begunAt }: Journal): Journal {
  return { id, round: round + 1, answers, steps, open, own, begunAt }
}

/** Nothing would be lost if this journal were forgotten. */
export function isBlank(journal: Journal): boolean {
  if (journal.answers.size > 0 || journal.steps.size > 0 || journal.own !== undefined) return false
  for (const { question, times } of journal.open.values()) {
    if (question !== undefined || times > 1) return false
  }
  return true
}

export function writeJournal(journal: Journal): JournalBody {
  const { answers, steps, open, own, begunAt } = journal
  return {
    ...(answers.size > 0 && {
      a: Array.from(answers, ([key, { question, response }]) => [key, question ?? null, response]),
    }),
    ...(steps.size > 0 && { s: Array.from(steps, ([key, step]) => ('value' in step ? [key, step.value] : [key])) }),
    ...(open.size > 0 && { o: Array.from(open, ([key, { question, times }]) => [key, question ?? null, times]) }),
    ...(own !== undefined && { x: own }),
    ...(begunAt !== undefined && { b: begunAt }),
  }
}

/** Reads what `writeJournal` wrote. Only ever called on what a seal has proven to be ours. */
export function readJournal(id: string, round: number, body: unknown): Journal {
  try {
    const { a = [], s = [], o = [], x, b } = body as JournalBody
    const journal = { id, round, answers: new Map(), steps: new Map(), open: new Map(), own: x, begunAt: b } as Journal
    for (const [key, question, response] of a) {
      journal.answers.set(key, { question: question ?? undefined, response: response as RecordedAnswer['response'] })
    }
    for (const step of s) journal.steps.set(step[0], step.length === 2 ? { value: step[1] } : {})
    for (const [key, question, times] of o) journal.open.set(key, { question: question ?? undefined, times })
    return journal
  } catch (cause) {
    throw new JournalError('JOURNAL_UNREADABLE', 'The journal was written by a version that this one cannot read.', {
      cause,
    })
  }
}

export function assertKey(key: unknown): void {
  if (typeof key === 'string' && key.length > 0 && key.length <= 256) return
  throw new JournalError('KEY_INVALID', 'A key must be a string of 1 to 256 characters.')
}

export function reused(how: string, key: string): JournalError {
  return new JournalError('KEY_REUSED', `The key "${key}" ${how}; give each its own key.`)
}
