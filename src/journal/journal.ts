/**
 * The memory of one call: its answers, the results of its steps, and its open questions.
 *
 * - Every entry is found by its key, never by its position, so a new version of a handler may ask in another order.
 * - A journal is plain data. The carrier decides where it is kept between rounds: with the client or in a store.
 * - A key is any string, also `__proto__`. So entries are held in Maps, and in JSON as arrays of pairs.
 */
import { JournalError } from './errors.ts'

/** The principal who answered a question, as it was at that time. */
export interface AnsweredBy {
  readonly id: string
  /** The subject at the issuer; the id if the issuer is unknown. */
  readonly subject: string
  readonly claims: Readonly<Record<string, unknown>>
}

interface RecordedAnswer {
  /** The fingerprint of the question that was answered; undefined when the question was not pinned. */
  readonly question: string | undefined
  readonly response: Readonly<Record<string, unknown>>
  /** Who answered, if that was checked. @default the caller */
  readonly by?: AnsweredBy | undefined
}

/** Who may answer a question. */
export interface Approvers {
  /** Roles or subjects, as the handler writes them; one match is enough. */
  readonly by: readonly string[]
  /** Whether the caller may not answer, even if a name in `by` fits. */
  readonly fourEyes: boolean
}

interface UnansweredQuestion {
  readonly question: string | undefined
  /** How often it has been asked so far. */
  readonly times: number
  /** How often its text has changed since it was asked first. @default 0 */
  readonly changes?: number
  /** The number of earlier questions, if all questions so far are open. @default 0 */
  readonly earlier?: number
  /** Undefined when the caller is asked. */
  readonly approvers?: Approvers | undefined
}

export interface Journal {
  /** A random id of the call that cannot be guessed, the same in all its rounds. */
  readonly id: string
  /** The number of rounds that have ended. */
  readonly round: number
  readonly answers: Map<string, RecordedAnswer>
  readonly steps: Map<string, { readonly value?: unknown }>
  readonly open: Map<string, UnansweredQuestion>
  /** The state that a handler in explicit style gave to `inputRequired`. */
  own: unknown
  /** When the first round ended or asked in place, in seconds since 1970; undefined before. */
  begunAt: number | undefined
  /** Absent if no span of the call was recorded. */
  trace?: CallTrace | undefined
}

/** The span of a call's first round, as a `traceparent`, and when its last round asked, in milliseconds since 1970. */
export type CallTrace = readonly [traceparent: string, askedAt?: number]

/** A journal as it is written in JSON: answers, steps, open questions, own state, `begunAt` and trace, each if not empty. */
interface JournalBody {
  readonly a?: readonly (readonly [key: string, question: string | null, response: unknown, by?: AnsweredBy])[]
  readonly s?: readonly ([key: string] | [key: string, value: unknown])[]
  readonly o?: readonly (readonly [key: string, question: string | null, times: number, changes?: number])[]
  readonly x?: unknown
  readonly b?: number
  readonly t?: CallTrace
}

/** An empty journal with this id, or with the id that a function makes when it is first needed. */
export function newJournal(id: string | (() => string)): Journal {
  return new LazyJournal(id)
}

/** A journal whose Maps and id are made at their first use, because most calls do not use them. */
class LazyJournal implements Journal {
  readonly round = 0
  begunAt: number | undefined = undefined
  own: unknown = undefined
  trace: CallTrace | undefined = undefined
  #id: string | (() => string)
  #answers: Journal['answers'] | undefined
  #steps: Journal['steps'] | undefined
  #open: Journal['open'] | undefined

  constructor(id: string | (() => string)) {
    this.#id = id
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
    if (typeof this.#id === 'function') this.#id = this.#id()
    return this.#id
  }
}

/** The same journal for the next round, without writing it and reading it back. */
export function nextRound({ id, round, answers, steps, open, own, begunAt, trace }: Journal): Journal {
  return { id, round: round + 1, answers, steps, open, own, begunAt, trace }
}

/** Whether the journal may be dropped without a loss. */
export function isBlank(journal: Journal): boolean {
  if (journal.answers.size > 0 || journal.steps.size > 0 || journal.own !== undefined) return false
  for (const { question, times } of journal.open.values()) {
    if (question !== undefined || times > 1) return false
  }
  return true
}

export function writeJournal(journal: Journal): JournalBody {
  const { answers, steps, open, own, begunAt, trace } = journal
  return {
    ...(answers.size > 0 && {
      a: Array.from(answers, ([key, answer]) => writeAnswer(key, answer)),
    }),
    ...(steps.size > 0 && { s: Array.from(steps, ([key, step]) => ('value' in step ? [key, step.value] : [key])) }),
    ...(open.size > 0 && { o: Array.from(open, ([key, asked]) => writeOpen(key, asked)) }),
    ...(own !== undefined && { x: own }),
    ...(begunAt !== undefined && { b: begunAt }),
    ...(trace !== undefined && { t: trace }),
  }
}

function writeAnswer(key: string, { question, response, by }: RecordedAnswer) {
  const written = [key, question ?? null, response] as const
  return by === undefined ? written : ([...written, by] as const)
}

function writeOpen(key: string, { question, times, changes = 0 }: UnansweredQuestion) {
  const written = [key, question ?? null, times] as const
  return changes === 0 ? written : ([...written, changes] as const)
}

/** Reads what `writeJournal` wrote. The body is not validated: it must come from an opened seal or from our own store. */
export function readJournal(id: string, round: number, body: unknown): Journal {
  try {
    const { a = [], s = [], o = [], x, b, t } = body as JournalBody
    const maps = { answers: new Map(), steps: new Map(), open: new Map() }
    const journal: Journal = { id, round, ...maps, own: x, begunAt: b, trace: t }
    for (const [key, question, response, by] of a) {
      const answer = { question: question ?? undefined, response: response as RecordedAnswer['response'] }
      journal.answers.set(key, by === undefined ? answer : { ...answer, by })
    }
    for (const step of s) journal.steps.set(step[0], step.length === 2 ? { value: step[1] } : {})
    for (const [key, question, times, changes = 0] of o) {
      journal.open.set(key, { question: question ?? undefined, times, changes })
    }
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
