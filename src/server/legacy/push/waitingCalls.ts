import { fairShareOf, Quota } from '../../../state/quota/index.ts'
import type { Call } from '../../call.ts'
import type { Instance, Owners } from '../../../cluster/index.ts'
import { quotaCaller } from '../../limits/quotaCaller.ts'
import { unanswered } from './answer.ts'
import { PushedCall } from './pushedCall.ts'

export interface WaitingCallsOptions {
  /** Maximum number of calls that wait for an answer. @default 1000 */
  readonly maxWaiting?: number
  /** Maximum number per caller. @default 100 */
  readonly maxWaitingPerCaller?: number
}

const MAX_WAITING_CHARS = 64 * 1024 * 1024
const MAX_CALLER_CHARS = 16 * 1024 * 1024
const ABANDONED = 'Too many calls wait for an answer, and the client of this one has disconnected.'
const TOO_MANY = 'Too many calls wait for an answer, and most of them are of this caller.'

/**
 * The calls of this process that pushed questions, by question. In this era a lost connection does not end a call, so
 * without a quota waiting calls would fill the memory. Calls whose clients have disconnected are evicted first.
 */
export class WaitingCalls {
  readonly #quota: Quota<PushedCall>
  readonly #owners: Owners
  readonly #onClosed: (question: string) => void
  readonly #calls = new Map<string, PushedCall>()
  /** Calls that were left to others when this process stopped. */
  readonly #left = new Set<string>()

  /** `onClosed` is called with each question that no longer waits. */
  constructor(
    { maxWaiting = 1000, maxWaitingPerCaller = 100, owners }: WaitingCallsOptions & { readonly owners: Owners },
    onClosed: (question: string) => void,
  ) {
    this.#quota = new Quota({
      all: { places: maxWaiting, chars: MAX_WAITING_CHARS },
      group: { places: fairShareOf(maxWaiting), chars: MAX_WAITING_CHARS / 2 },
      caller: { places: maxWaitingPerCaller, chars: MAX_CALLER_CHARS },
      evict: (asking) => asking.end(asking.open.areAbandoned ? ABANDONED : TOO_MANY),
    })
    this.#onClosed = onClosed
    this.#owners = owners
  }

  get(name: string): PushedCall | undefined {
    return this.#calls.get(name)
  }

  /** The calls that another instance could resume right now. */
  movable(): PushedCall[] {
    return [...this.#calls.values()].filter(({ canMove }) => canMove)
  }

  enter(name: string, generation: number): PushedCall {
    const asking = new PushedCall(name, generation, (question) => {
      this.#onClosed(question)
      if (!asking.isWaiting) this.#quota.delete(asking)
    })
    this.#calls.set(name, asking)
    this.#left.delete(name)
    return asking
  }

  remove(asking: PushedCall): void {
    if (this.#calls.get(asking.name) === asking) this.#calls.delete(asking.name)
    this.#quota.delete(asking)
  }

  /** Leaves a call to its new owner, if that is known; its questions stay open there. */
  leave(asking: PushedCall, to?: Instance): void {
    const {
      name,
      move: { snapshot },
    } = asking
    const keys = snapshot === undefined ? [name] : [name, snapshot().name]
    if (!asking.handOff()) return
    this.#left.add(name)
    this.remove(asking)
    if (to === undefined) this.#owners.leave(keys)
    else this.#owners.note(keys, to)
  }

  /** Whether the call was left to others. */
  isLeft(name: string): boolean {
    return this.#left.has(name)
  }

  /** Counts a call that is about to wait, and evicts others for it. Throws if none may be evicted. */
  makeRoomFor(asking: PushedCall, call: Call): void {
    const { cost } = asking
    cost.caller ||= quotaCaller(call)
    if (asking.isWaiting) return // the call is already counted
    cost.chars ||= JSON.stringify(call.params).length
    const counted = { ...cost, evictable: 'never' } as const
    this.#quota.delete(asking)
    if (!this.#quota.fits(counted)) this.#noteEvictable()
    if (!this.#quota.put(asking, counted))
      throw unanswered('Too many calls wait for an answer; answer or cancel one first.')
  }

  #noteEvictable(): void {
    for (const call of this.#calls.values())
      if (call.isWaiting) this.#quota.setEvictable(call, call.open.areAbandoned ? 'always' : 'if-larger')
  }
}
