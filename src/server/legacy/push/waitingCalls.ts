import { fairShareOf, Quota } from '../../../state/quota/index.ts'
import { ExpiringMap } from '../../../state/stores/index.ts'
import type { Call } from '../../call.ts'
import { quotaCaller } from '../../limits/quotaCaller.ts'
import { unanswered } from './answer.ts'
import type { ResumedQuestion } from './handOff.ts'
import { PushedCall } from './pushedCall.ts'
import type { PushStatesOptions } from './state.ts'

export interface WaitingCallsOptions {
  /** Maximum number of calls that wait for an answer. @default 1000 */
  readonly maxWaiting?: number
  /** Maximum number of them per caller. @default 100 */
  readonly maxWaitingPerCaller?: number
}

const MAX_WAITING_CHARS = 64 * 1024 * 1024
const MAX_CALLER_CHARS = 16 * 1024 * 1024
const ABANDONED = 'Too many calls wait for an answer, and the client of this one has disconnected.'
const TOO_MANY = 'Too many calls wait for an answer, and most of them are of this caller.'

/** The lifetime of a question. */
type QuestionTimes = Pick<PushStatesOptions, 'clock' | 'ttlSeconds'>

/**
 * The calls of this process that pushed questions, by question. In this era a lost connection does not end a call, so
 * without a quota waiting calls would fill the memory. Calls whose clients have disconnected are evicted first.
 */
export class WaitingCalls {
  readonly #options: QuestionTimes
  readonly #quota: Quota<PushedCall>
  readonly #onClosed: (question: string) => void
  readonly #calls = new Map<string, PushedCall>()
  readonly #askedBy = new Map<string, PushedCall>()
  /** Questions of calls that were left to others, which happens when this process stops. */
  readonly #left = new Set<string>()
  /** Questions that another instance asked, whose calls were resumed here. */
  readonly #resumed = new Map<string, { readonly asking: PushedCall; readonly key: string }>()
  /** Questions that another instance asked, whose calls have ended here. */
  readonly #ended: ExpiringMap<true>

  /** `onClosed` is called with each question that no longer waits. */
  constructor(options: WaitingCallsOptions & QuestionTimes, onClosed: (question: string) => void) {
    this.#options = options
    this.#ended = new ExpiringMap(options.clock)
    const { maxWaiting = 1000, maxWaitingPerCaller = 100 } = options
    this.#quota = new Quota({
      all: { places: maxWaiting, chars: MAX_WAITING_CHARS },
      group: { places: fairShareOf(maxWaiting), chars: MAX_WAITING_CHARS / 2 },
      caller: { places: maxWaitingPerCaller, chars: MAX_CALLER_CHARS },
      evict: (asking) => asking.end(asking.abandoned ? ABANDONED : TOO_MANY),
    })
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
      if (!asking.isWaiting) this.#quota.delete(asking)
    })
    this.#calls.set(name, asking)
    return asking
  }

  remove(asking: PushedCall): void {
    if (this.#calls.get(asking.name) === asking) this.#calls.delete(asking.name)
    this.#quota.delete(asking)
    const { resumedQuestions, inherited } = asking.earlier
    for (const question of resumedQuestions) this.#resumed.delete(question)
    if (asking.isHandedOff) return
    const { clock, ttlSeconds } = this.#options
    for (const question of [...resumedQuestions, ...inherited])
      this.#ended.set(question, true, clock() + ttlSeconds * 1000)
  }

  /** Whether another instance asked this, and the call has ended here. */
  hasEnded(question: string): boolean {
    return this.#ended.get(question) === true
  }

  /** Releases a call to its new owner; its questions stay open there. */
  leave(asking: PushedCall): void {
    for (const question of asking.handOff()) {
      this.#askedBy.delete(question)
      this.#left.add(question)
    }
    this.#quota.delete(asking)
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
  resume(name: string, generation: number, questions: readonly ResumedQuestion[]): void {
    const asking = this.enter(name, generation)
    asking.earlier.resume(questions)
    for (const { question, key } of questions) this.#resumed.set(question, { asking, key })
  }

  resumerOf(question: string): { readonly asking: PushedCall; readonly key: string } | undefined {
    return this.#resumed.get(question)
  }

  /** Counts a call that is about to wait, and evicts others for it. Throws if none may be evicted. */
  makeRoomFor(asking: PushedCall, call: Call): void {
    asking.holder ||= quotaCaller(call)
    if (asking.isWaiting) return // it is counted already
    asking.chars ||= JSON.stringify(call.params).length
    const counted = { caller: asking.holder, chars: asking.chars, evictable: 'never' } as const
    this.#quota.delete(asking)
    if (!this.#quota.fits(counted)) this.#noteEvictable()
    if (!this.#quota.put(asking, counted))
      throw unanswered('Too many calls wait for an answer; answer or cancel one first.')
  }

  #noteEvictable(): void {
    for (const call of this.#calls.values())
      if (call.isWaiting) this.#quota.setEvictable(call, call.abandoned ? 'always' : 'if-larger')
  }
}
