/** A call with pushed questions that wait for an answer. */
import { MAX_TIMER_MS, type ResponseMessage, unref } from '../../../protocol/index.ts'
import type { Caller, CarriedCall } from '../../call.ts'
import type { Instance } from '../../../cluster/index.ts'
import { bareResult, couldNotAnswer, unanswered } from './answer.ts'
import { EarlierQuestions } from './earlierQuestions.ts'
import type { ResumedQuestion, CallHandOff, StreamHandOff } from './handOff.ts'
import type { PushStream } from './state.ts'

interface Waiting {
  /** The question's id on the wire. */
  readonly id: string
  readonly caller: Caller
  readonly stream: PushStream
  /** Whether the question has a state outside this process, from which another could resume. */
  readonly isCarried: boolean
  readonly key: string
  /** The call's generation when it asked. */
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

export class PushedCall {
  readonly name: string
  /** The number of times that the call has continued from an answer, in this process and in earlier ones. */
  generation: number
  /** Whether a state of the call exists, with the client or in the store, from which another process could resume. */
  carried: boolean
  ended = false
  /** Whether the call waits for something other than an answer, for which any instance could wait. */
  waitsAnywhere = false
  /** Whether no other instance can resume the call. */
  isBound = false
  /** Whether another instance has resumed the call, or may. */
  isHandedOff = false
  /** The call as it is, for another instance; absent until it has asked. */
  snapshot: (() => StreamHandOff & { readonly call: CallHandOff }) | undefined
  /** Called once when this process must leave the call to others. */
  onHandOff: () => void = () => {}
  /** The size of the call's parameters, which it holds in memory while it waits. */
  chars = 0
  /** Settles with the new owner of the call, or undefined if no instance takes it; absent without a hand-off. */
  handingOff: Promise<Instance | undefined> | undefined
  /** The questions of an earlier process. */
  readonly earlier = new EarlierQuestions()
  readonly #open = new Map<string, Waiting>()
  /** The caller that it counts for; empty until it asks. */
  holder = ''
  /** Answers that are being taken. */
  readonly #arriving = new Set<Promise<unknown>>()
  readonly #onClosed: (question: string) => void
  #advancing: Promise<Instance | undefined> | undefined

  /** `onClosed` is called with each question that no longer waits. */
  constructor(name: string, generation: number, onClosed: (question: string) => void) {
    this.name = name
    this.generation = generation
    this.carried = generation > 0
    this.#onClosed = onClosed
  }

  /** The caller that was asked an open question. */
  callerOf(question: string): Caller | undefined {
    return this.#open.get(question)?.caller
  }

  /** Whether this caller may answer an open question. */
  accepts(question: string, answerer: Caller): boolean {
    return this.#open.get(question)?.mayAnswer?.(answerer) ?? true
  }

  get isWaiting(): boolean {
    return this.#open.size > 0
  }

  /** Whether another instance could resume the call right now. */
  get canMove(): boolean {
    return this.isWaiting || this.waitsAnywhere
  }

  /** Whether the clients of all open questions have disconnected. */
  get abandoned(): boolean {
    return [...this.#open.values()].every(({ stream }) => !stream.connected)
  }

  /** The questions that wait for an answer. */
  openQuestions(): ResumedQuestion[] {
    return Array.from(this.#open, ([question, { key, id }]) => ({ key, question, id }))
  }

  wait(question: string, { ttlSeconds, ...asked }: AnswerWaitOptions): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const late = (): void => this.#close(question)?.reject(unanswered('The client did not answer in time.'))
      const timer = unref(setTimeout(late, Math.min(ttlSeconds * 1000, MAX_TIMER_MS)))
      this.#open.set(question, { ...asked, resolve, reject, timer })
      this.#tell(asked.stream)
    })
  }

  /** The question cannot be answered. */
  fail(question: string, error: Error): void {
    this.#close(question)?.reject(error)
  }

  /** Asks every open question once more. */
  askAgain(): void {
    for (const key of new Set(Array.from(this.#open.values(), (waiting) => waiting.key))) {
      const asked = this.#asking(key)
      if (asked.length <= MAX_REPEATS) asked[0]?.[1].askAgain?.()
    }
  }

  /**
   * Notes a repeated question under its new id: an answer to either answers both. Returns the id before it; undefined
   * if the question no longer waits.
   */
  waitAlso(key: string, question: string, id: string): string | undefined {
    const last = this.#asking(key).at(-1)?.[1]
    if (last === undefined) return undefined
    this.#open.set(question, { ...last, id, generation: this.generation })
    this.#tell(last.stream)
    return last.id
  }

  /** Notes an answer until it is taken, because the call cannot be handed off meanwhile. */
  arrive<T>(taking: Promise<T>): Promise<T> {
    const arriving = taking.finally(() => this.#arriving.delete(arriving))
    this.#arriving.add(arriving)
    return arriving
  }

  get isArriving(): boolean {
    return this.#arriving.size > 0
  }

  /** Resolves when the answers that are here are taken. */
  async arrived(): Promise<void> {
    await Promise.allSettled(this.#arriving)
  }

  /** The generation in which an open question was asked. */
  askedIn(question: string): number | undefined {
    return this.#open.get(question)?.generation
  }

  /**
   * Continues the call in its next generation: `claim` decides whether this process may, once for all questions that
   * were `asked` in one generation. Returns the instance that has resumed it instead, if any.
   */
  async advance(
    asked: number | undefined,
    claim: (generation: number) => Promise<Instance | undefined>,
  ): Promise<Instance | undefined> {
    if (asked === undefined || asked < this.generation) return undefined
    this.#advancing ??= claim(this.generation)
      .then((other) => {
        if (other === undefined) this.generation++
        return other
      })
      .finally(() => (this.#advancing = undefined))
    return this.#advancing
  }

  /** The generation was claimed without an answer, so the answers to its open questions need another claim. */
  renewQuestions(): void {
    for (const [question, waiting] of this.#open) this.#open.set(question, { ...waiting, generation: this.generation })
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

  /** Takes an answer to a question of an earlier process; false when it is answered already, or not for them. */
  takeAnswer(key: string, response: ResponseMessage, answerer: Caller): boolean {
    if (this.earlier.isTaken(response.id)) return false
    const [question] = this.#asking(key)[0] ?? []
    if (question !== undefined && !this.accepts(question, answerer)) return false
    this.earlier.markTaken(response.id)
    if (question === undefined) this.earlier.keepAnswer(key, { response, answerer })
    else this.settle(question, response, answerer)
    return true
  }

  /** Returns the ids of the questions that were still open. */
  end(why = 'The request has ended.'): readonly string[] {
    this.ended = true
    const newest = new Map(Array.from(this.#open.values(), ({ key, id }) => [key, id]))
    for (const question of this.#open.keys()) this.#close(question)?.reject(unanswered(why))
    for (const question of this.earlier.inherited) this.#onClosed(question)
    return [...newest.values()]
  }

  /** Releases the call without notifying its client; its questions stay open for the new owner. Returns false if it is released already. */
  handOff(): boolean {
    if (this.isHandedOff) return false
    this.ended = true
    this.isHandedOff = true
    const open = [...this.#open.values()]
    this.#open.clear()
    this.onHandOff()
    for (const { timer, reject } of open) {
      clearTimeout(timer)
      reject(unanswered('The call goes on at another instance.'))
    }
    return true
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

  /** The open questions with this key: one, and those that were sent once more for it. */
  #asking(key: string | undefined): [question: string, waiting: Waiting][] {
    return [...this.#open].filter(([, waiting]) => waiting.key === key)
  }
}
