/** A call with pushed questions: those that wait for an answer, and answers to questions of an earlier process. */
import { type Json, MAX_TIMER_MS, type RequestId, type ResponseMessage, unref } from '../../../protocol/index.ts'
import { ServerError } from '../../errors.ts'
import type { Caller } from '../../call.ts'
import type { Instance } from '../../replicas/instance.ts'
import type { AdoptedQuestion, CallHandOver, StreamHandOver } from './handOver.ts'
import { bareResult, type PushStream } from './state.ts'

interface Waiting {
  /** The question's id on the wire. */
  readonly id: string
  readonly caller: Caller
  readonly stream: PushStream
  readonly key: string
  /** The call's generation when it asked. */
  readonly generation: number
  readonly resolve: (response: unknown) => void
  readonly reject: (error: Error) => void
  readonly timer: ReturnType<typeof setTimeout>
}

export interface AnswerWaitOptions extends Pick<Waiting, 'id' | 'caller' | 'key' | 'generation' | 'stream'> {
  readonly ttlSeconds: number
}

export class PushedCall {
  readonly name: string
  /** How often the call has gone on from an answer, in this process and in those before. */
  generation: number
  /** Whether a state of the call exists, with the client or in the store, from which another process could continue. */
  carried: boolean
  ended = false
  /** Whether the call waits for something other than an answer, for which any instance could wait. */
  waitsAnywhere = false
  /** Whether another instance goes on with the call, or may. */
  isHandedOver = false
  /** The call as it is, for another instance; absent until it has asked. */
  snapshot: (() => StreamHandOver & { readonly call: CallHandOver }) | undefined
  /** Told once when this process must leave the call to others. */
  onHandOver: () => void = () => {}
  /** The size of the call's parameters, which it holds in memory while it waits. */
  chars = 0
  /** Settles with the instance that takes the call over, or undefined when none does; absent while nobody tries. */
  handingOver: Promise<Instance | undefined> | undefined
  readonly #open = new Map<string, Waiting>()
  readonly #adopted = new Map<string, AdoptedQuestion>()
  readonly #adoptedQuestions: string[] = []
  /** Answers to questions of an earlier process that the handler has not asked again yet, by key. */
  readonly #early = new Map<string, ResponseMessage>()
  /** Questions of an earlier process that have been answered. */
  readonly #taken = new Set<RequestId>()
  /** Answers that are being taken. */
  readonly #arriving = new Set<Promise<unknown>>()
  readonly #onClosed: (question: string) => void
  #advancing: Promise<Instance | undefined> | undefined

  /** `onClosed` is called with each question that does not wait any more. */
  constructor(name: string, generation: number, onClosed: (question: string) => void) {
    this.name = name
    this.generation = generation
    this.carried = generation > 0
    this.#onClosed = onClosed
  }

  /** Who was asked an open question. */
  callerOf(question: string): Caller | undefined {
    return this.#open.get(question)?.caller
  }

  get isWaiting(): boolean {
    return this.#open.size > 0
  }

  /** Whether another instance could go on with the call right now. */
  get canMove(): boolean {
    return this.isWaiting || this.waitsAnywhere
  }

  waitsFor(session: string | undefined): boolean {
    return [...this.#open.values()].some(({ caller }) => caller.peer.session === session)
  }

  /** Whether the clients of all open questions have disconnected. */
  get abandoned(): boolean {
    return [...this.#open.values()].every(({ stream }) => !stream.connected)
  }

  /** The questions that wait for an answer. */
  openQuestions(): AdoptedQuestion[] {
    return Array.from(this.#open, ([question, { key, id }]) => ({ key, question, id }))
  }

  /** Another instance has asked these: they are not asked again. */
  adopt(questions: readonly AdoptedQuestion[]): void {
    for (const adopted of questions) {
      this.#adopted.set(adopted.key, adopted)
      this.#adoptedQuestions.push(adopted.question)
    }
  }

  get adoptedQuestions(): readonly string[] {
    return this.#adoptedQuestions
  }

  takeAdopted(key: string): AdoptedQuestion | undefined {
    const adopted = this.#adopted.get(key)
    this.#adopted.delete(key)
    return adopted
  }

  wait(question: string, { ttlSeconds, ...asked }: AnswerWaitOptions): Promise<unknown> {
    return new Promise((resolve, reject) => {
      const late = (): void => this.#close(question)?.reject(unanswered('The client did not answer in time.'))
      const timer = unref(setTimeout(late, Math.min(ttlSeconds * 1000, MAX_TIMER_MS)))
      this.#open.set(question, { ...asked, resolve, reject, timer })
    })
  }

  /** Notes an answer until it is taken, because the call cannot go to another instance meanwhile. */
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

  /**
   * An answer to this question is here: `claim` decides whether this process may go on, once for all answers to
   * questions of one generation. Gives the instance that goes on instead, if there is one.
   */
  async advance(
    question: string,
    claim: (generation: number) => Promise<Instance | undefined>,
  ): Promise<Instance | undefined> {
    const asked = this.#open.get(question)?.generation
    if (asked === undefined || asked < this.generation) return undefined
    this.#advancing ??= claim(this.generation)
      .then((other) => {
        if (other === undefined) this.generation++
        return other
      })
      .finally(() => (this.#advancing = undefined))
    return this.#advancing
  }

  settle(question: string, response: ResponseMessage): void {
    const waiting = this.#close(question)
    if (response.error === undefined) waiting?.resolve(bareResult(response))
    else waiting?.reject(couldNot())
  }

  /** Notes that this question of an earlier process is answered. */
  markTaken(question: RequestId): void {
    this.#taken.add(question)
  }

  /** Takes an answer to a question of an earlier process; false when it is answered already. */
  takeAnswer(key: string, response: ResponseMessage): boolean {
    if (this.#taken.has(response.id)) return false
    this.markTaken(response.id)
    for (const [question, waiting] of this.#open) {
      if (waiting.key === key) {
        this.settle(question, response)
        return true
      }
    }
    this.#early.set(key, response)
    return true
  }

  /**
   * The answer that came before the handler asked again, if there is one. Throws when the client answered with an
   * error.
   */
  takeEarly(key: string): Json | undefined {
    const early = this.#early.get(key)
    this.#early.delete(key)
    if (early?.error !== undefined) throw couldNot()
    return early && bareResult(early)
  }

  /** Gives the ids of the questions that were still open. */
  end(why = 'The request has ended.'): readonly string[] {
    this.ended = true
    const open = [...this.#open]
    for (const [question] of open) this.#close(question)?.reject(unanswered(why))
    return open.map(([, { id }]) => id)
  }

  /**
   * Lets go of the call without a word to its client: its questions, which it gives back, stay open for the instance that
   * goes on.
   */
  handOver(): readonly string[] {
    if (this.isHandedOver) return []
    this.ended = true
    this.isHandedOver = true
    const open = [...this.#open]
    this.#open.clear()
    this.onHandOver()
    for (const [, { timer, reject }] of open) {
      clearTimeout(timer)
      reject(unanswered('The call goes on at another instance.'))
    }
    return open.map(([question]) => question)
  }

  #close(question: string): Waiting | undefined {
    const waiting = this.#open.get(question)
    if (waiting === undefined) return undefined
    clearTimeout(waiting.timer)
    this.#open.delete(question)
    this.#onClosed(question)
    return waiting
  }
}

export interface WaitingLimits {
  readonly perProcess: number
  readonly perSession: number
  /** The parameters of all waiting calls together. */
  readonly chars: number
}

/**
 * Makes room for one more waiting call: ends the oldest ones whose clients have disconnected, and throws if there are
 * none. In this era a lost connection does not end a call, so without a limit waiting calls would fill the memory.
 */
export function evictAbandoned(
  calls: Iterable<PushedCall>,
  newcomer: PushedCall,
  session: string | undefined,
  limits: WaitingLimits,
): void {
  const all = [...calls]
  for (;;) {
    const waiting = all.filter(({ isWaiting }) => isWaiting)
    const ofSession = waiting.filter((call) => call.waitsFor(session))
    const chars = waiting.reduce((sum, call) => sum + call.chars, newcomer.chars)
    const isFull = waiting.length >= limits.perProcess || (chars > limits.chars && waiting.length > 0)
    const crowd = ofSession.length >= limits.perSession ? ofSession : isFull ? waiting : undefined
    if (crowd === undefined) return
    const oldest = crowd.find(({ abandoned }) => abandoned)
    if (oldest === undefined) throw unanswered('Too many calls wait for an answer; answer or cancel one first.')
    oldest.end('Too many calls wait for an answer, and the client of this one has disconnected.')
  }
}

function couldNot(): ServerError {
  return unanswered('The client could not answer.')
}

function unanswered(why: string): ServerError {
  return new ServerError('PUSH_UNANSWERED', why)
}
