/** The pushed questions of one call that wait for an answer, by their names. */
import { MAX_TIMER_MS, type ResponseMessage, unref } from '../../../protocol/index.ts'
import type { Caller, CarriedCall } from '../../call.ts'
import { bareResult, couldNotAnswer, unanswered } from './answer.ts'
import type { ResumedQuestion } from './handOff.ts'
import type { PushStream } from './state.ts'

interface Waiting {
  /** The question's id on the wire. */
  readonly id: string
  readonly caller: Caller
  readonly stream: PushStream
  /** Whether the question has a state outside this process, from which another process could resume the call. */
  readonly isCarried: boolean
  readonly key: string
  /** The generation of the call when it asked this question. */
  readonly generation: number
  /** Repeats the question under another id, because its answer may be lost; absent if that is impossible. */
  readonly askAgain: (() => void) | undefined
  readonly mayAnswer: CarriedCall['mayAnswer']
  readonly onAnswer: CarriedCall['onAnswer']
  /** Notifies the client that the question with this id needs no answer. */
  readonly withdraw: (id: string) => void
  readonly resolve: (response: unknown) => void
  readonly reject: (error: Error) => void
  readonly timer: ReturnType<typeof setTimeout>
}

export interface AnswerWaitOptions extends Omit<Waiting, 'resolve' | 'reject' | 'timer'> {
  readonly ttlSeconds: number
}

// Maximum number of repeats: the person who is asked may see the question again each time.
const MAX_REPEATS = 3

export class WaitingQuestions {
  readonly #open = new Map<string, Waiting>()
  readonly #onClosed: (question: string) => void

  /** `onClosed` is called with each question that no longer waits. */
  constructor(onClosed: (question: string) => void) {
    this.#onClosed = onClosed
  }

  get size(): number {
    return this.#open.size
  }

  /** The caller that was asked; undefined if the question is not open. */
  callerOf(question: string): Caller | undefined {
    return this.#open.get(question)?.caller
  }

  accepts(question: string, answerer: Caller): boolean {
    return this.#open.get(question)?.mayAnswer?.(answerer) ?? true
  }

  /** The generation of the call in which a question was asked. */
  askedIn(question: string): number | undefined {
    return this.#open.get(question)?.generation
  }

  withKey(key: string): string | undefined {
    return this.#asking(key)[0]?.[0]
  }

  /** Whether the clients of all questions have disconnected. */
  get areAbandoned(): boolean {
    return [...this.#open.values()].every(({ stream }) => !stream.connected)
  }

  /** The questions as another instance resumes them. */
  list(): ResumedQuestion[] {
    return Array.from(this.#open, ([question, { key, id }]) => ({ key, question, id }))
  }

  wait(question: string, { ttlSeconds, ...asked }: AnswerWaitOptions): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const late = (): void => this.fail(question, unanswered('The client did not answer in time.'))
      const timer = unref(setTimeout(late, Math.min(ttlSeconds * 1000, MAX_TIMER_MS)))
      this.#open.set(question, { ...asked, resolve, reject, timer })
      this.#tell(asked.stream)
    })
  }

  /**
   * Adds a repeated question under its new id: an answer to either answers both. Returns the previous id; undefined if
   * the question no longer waits.
   */
  waitAlso(key: string, question: string, { id, generation }: Pick<Waiting, 'id' | 'generation'>): string | undefined {
    const last = this.#asking(key).at(-1)?.[1]
    if (last === undefined) return undefined
    this.#open.set(question, { ...last, id, generation })
    this.#tell(last.stream)
    return last.id
  }

  /** Asks every question once more. */
  askAgain(): void {
    for (const key of new Set(Array.from(this.#open.values(), (waiting) => waiting.key))) {
      const asked = this.#asking(key)
      if (asked.length <= MAX_REPEATS) asked[0]?.[1].askAgain?.()
    }
  }

  /**
   * Moves the questions to a generation that was claimed without an answer, so that their answers claim the next one.
   */
  renew(generation: number): void {
    for (const [question, waiting] of this.#open) this.#open.set(question, { ...waiting, generation })
  }

  /** Delivers the answer; returns false if the question no longer waits. */
  settle(question: string, response: ResponseMessage, answerer: Caller): boolean {
    const newest = this.#asking(this.#open.get(question)?.key).at(-1)
    const waiting = this.#close(question)
    if (newest !== undefined && newest[0] !== question) newest[1].withdraw(newest[1].id)
    waiting?.onAnswer?.(answerer)
    if (response.error === undefined) waiting?.resolve(bareResult(response))
    else waiting?.reject(couldNotAnswer())
    return waiting !== undefined
  }

  /** Rejects the wait for an answer. */
  fail(question: string, error: Error): void {
    this.#close(question)?.reject(error)
  }

  /** Ends all questions; returns the ids of the open ones, of a repeated question only the newest. */
  failAll(why: string): readonly string[] {
    const newest = new Map(Array.from(this.#open.values(), ({ key, id }) => [key, id]))
    for (const question of this.#open.keys()) this.fail(question, unanswered(why))
    return [...newest.values()]
  }

  /** Releases the questions, which stay open at another instance. */
  release(): () => void {
    const open = [...this.#open.values()]
    this.#open.clear()
    return () => {
      for (const { timer, reject } of open) {
        clearTimeout(timer)
        reject(unanswered('Another instance continues the call.'))
      }
    }
  }

  #close(question: string): Waiting | undefined {
    const waiting = this.#open.get(question)
    if (waiting === undefined) return undefined
    clearTimeout(waiting.timer)
    for (const [same] of this.#asking(waiting.key)) {
      this.#open.delete(same)
      this.#onClosed(same)
    }
    this.#tell(waiting.stream)
    return waiting
  }

  #tell(stream: PushStream): void {
    stream.noteOwed([...this.#open].findLast(([, { isCarried }]) => isCarried)?.[0])
  }

  /** The open questions with this key: the first, and its repeats. */
  #asking(key: string | undefined): [question: string, waiting: Waiting][] {
    return [...this.#open].filter(([, waiting]) => waiting.key === key)
  }
}
