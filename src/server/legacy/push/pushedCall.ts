/** A call that pushes questions to its client. */
import type { ResponseMessage } from '../../../protocol/index.ts'
import type { Caller } from '../../call.ts'
import type { Instance } from '../../../cluster/index.ts'
import { EarlierQuestions } from './earlierQuestions.ts'
import type { CallHandOff, StreamHandOff } from './handOff.ts'
import { WaitingQuestions } from './waitingQuestions.ts'

/** The hand-off of a call. */
interface CallMove {
  /** Whether no other instance can resume the call. */
  isBound: boolean
  /** A snapshot of the call for another instance; absent until it has asked. */
  snapshot: (() => StreamHandOff & { readonly call: CallHandOff }) | undefined
  /**
   * Resolves with the new owner of the call, or undefined if no instance accepts it; absent without a hand-off in
   * progress.
   */
  newOwner: Promise<Instance | undefined> | undefined
  /** Whether another instance has resumed the call, or may resume it. */
  isOver: boolean
  /** Called once when this process leaves the call to others. */
  onOver: () => void
}

/**
 * The quota entry of a waiting call: its caller, empty until it asks, and the size of its parameters, which are held in
 * memory.
 */
interface CallCost {
  caller: string
  chars: number
}

export class PushedCall {
  readonly name: string
  /** The claims of the call. */
  readonly claims: CallClaims
  readonly move: CallMove = { isBound: false, snapshot: undefined, newOwner: undefined, isOver: false, onOver() {} }
  readonly cost: CallCost = { caller: '', chars: 0 }
  readonly open: WaitingQuestions
  /** The questions that an earlier process asked. */
  readonly earlier = new EarlierQuestions()
  ended = false
  /** Whether the call waits for something other than an answer, for which any instance could wait. */
  waitsAnywhere = false
  /** Answers that are being taken. */
  readonly #arriving = new Set<Promise<unknown>>()
  readonly #onClosed: (question: string) => void

  /** `onClosed` is called with each question that no longer waits. */
  constructor(name: string, generation: number, onClosed: (question: string) => void) {
    this.name = name
    this.claims = new CallClaims(generation)
    this.open = new WaitingQuestions(onClosed)
    this.#onClosed = onClosed
  }

  get isWaiting(): boolean {
    return this.open.size > 0
  }

  /** Whether another instance could resume the call right now. */
  get canMove(): boolean {
    return this.isWaiting || this.waitsAnywhere
  }

  /** Tracks an answer until it is taken, because the call cannot be handed off in the meantime. */
  arrive<T>(taking: Promise<T>): Promise<T> {
    const arriving = taking.finally(() => this.#arriving.delete(arriving))
    this.#arriving.add(arriving)
    return arriving
  }

  /** Resolves when the arrived answers are taken: they may continue the call. */
  async arrived(): Promise<void> {
    while (this.#arriving.size > 0) await Promise.allSettled(this.#arriving)
  }

  /**
   * Takes an answer to a question of an earlier process; returns false if that was answered before, or may not be
   * answered by this caller.
   */
  takeAnswer(key: string, response: ResponseMessage, answerer: Caller): boolean {
    if (this.earlier.taken.has(response.id)) return false
    const question = this.open.withKey(key)
    if (question !== undefined && !this.open.accepts(question, answerer)) return false
    this.earlier.taken.add(response.id)
    if (question === undefined) this.earlier.answers.set(key, { response, answerer })
    else this.open.settle(question, response, answerer)
    return true
  }

  /** Returns the ids of the questions that were still open. */
  end(why = 'The request has ended.'): readonly string[] {
    this.ended = true
    const open = this.open.failAll(why)
    for (const question of this.earlier.inherited) this.#onClosed(question)
    return open
  }

  /**
   * Releases the call without notifying its client; its questions stay open for the new owner. Returns false if it was
   * already released.
   */
  handOff(): boolean {
    if (this.move.isOver) return false
    this.ended = true
    this.move.isOver = true
    const reject = this.open.release()
    this.move.onOver()
    reject()
    return true
  }
}

/** The generations of a call: one instance claims each. */
class CallClaims {
  /** The number of times that the call has continued from an answer, in this process and in earlier ones. */
  generation: number
  /** Whether a state of the call exists, with the client or in the store, from which another process could resume. */
  carried: boolean
  #advancing: Promise<Instance | undefined> | undefined

  constructor(generation: number) {
    this.generation = generation
    this.carried = generation > 0
  }

  /**
   * Continues the call in its next generation, once for all questions that were `asked` in one generation. `claim`
   * decides whether this process may; returns the instance that has resumed the call instead, if any.
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
}
