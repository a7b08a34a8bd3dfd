import type { Call } from '../../call.ts'
import { holderOf } from '../../limits/holders.ts'
import type { AdoptedQuestion } from './handOver.ts'
import { PushedCall } from './pushedCall.ts'
import { makeRoom } from './waitingLimits.ts'

export interface WaitingCallsOptions {
  /** How many calls may wait for an answer at once. @default 1000 */
  readonly maxWaiting?: number
  /** How many of them may be of one caller. @default 100 */
  readonly maxWaitingPerCaller?: number
}

const MAX_WAITING_CHARS = 64 * 1024 * 1024
const MAX_CALLER_CHARS = 16 * 1024 * 1024

/** The calls of this process that pushed questions, and which of them asked what. */
export class WaitingCalls {
  readonly #options: WaitingCallsOptions
  readonly #onClosed: (question: string) => void
  readonly #calls = new Map<string, PushedCall>()
  readonly #askedBy = new Map<string, PushedCall>()
  /** Questions of calls that were left to others, which happens when this process stops. */
  readonly #left = new Set<string>()
  /** Questions that another instance asked, whose calls go on here. */
  readonly #adopted = new Map<string, { readonly asking: PushedCall; readonly key: string }>()

  /** `onClosed` is called with each question that does not wait any more. */
  constructor(options: WaitingCallsOptions, onClosed: (question: string) => void) {
    this.#options = options
    this.#onClosed = onClosed
  }

  get(name: string): PushedCall | undefined {
    return this.#calls.get(name)
  }

  /** The calls that another instance could go on with right now. */
  movable(): PushedCall[] {
    return [...this.#calls.values()].filter(({ canMove }) => canMove)
  }

  enter(name: string, generation: number): PushedCall {
    const asking = new PushedCall(name, generation, (question) => {
      this.#askedBy.delete(question)
      this.#onClosed(question)
    })
    this.#calls.set(name, asking)
    return asking
  }

  remove(asking: PushedCall): void {
    if (this.#calls.get(asking.name) === asking) this.#calls.delete(asking.name)
    for (const question of asking.earlier.adoptedQuestions) this.#adopted.delete(question)
  }

  /** Lets go of a call that goes on elsewhere; its questions stay open for the instance that has it. */
  leave(asking: PushedCall): void {
    for (const question of asking.handOver()) {
      this.#askedBy.delete(question)
      this.#left.add(question)
    }
  }

  /** Whether the call that asked this was left to others. */
  isLeft(question: string): boolean {
    return this.#left.has(question)
  }

  noteAsked(question: string, asking: PushedCall): void {
    this.#askedBy.set(question, asking)
  }

  askerOf(question: string): PushedCall | undefined {
    return this.#askedBy.get(question)
  }

  /** Enters a call of another instance with its open questions. */
  adopt(name: string, generation: number, questions: readonly AdoptedQuestion[]): void {
    const asking = this.enter(name, generation)
    asking.earlier.adopt(questions)
    for (const { question, key } of questions) this.#adopted.set(question, { asking, key })
  }

  adopterOf(question: string): { readonly asking: PushedCall; readonly key: string } | undefined {
    return this.#adopted.get(question)
  }

  makeRoomFor(asking: PushedCall, call: Call): void {
    asking.holder ||= holderOf(call)
    if (asking.isWaiting) return // it is counted already
    asking.chars ||= JSON.stringify(call.params).length
    const { maxWaiting = 1000, maxWaitingPerCaller = 100 } = this.#options
    makeRoom(this.#calls.values(), asking, asking.holder, {
      perProcess: maxWaiting,
      perHolder: maxWaitingPerCaller,
      chars: MAX_WAITING_CHARS,
      charsPerHolder: MAX_CALLER_CHARS,
    })
  }
}
