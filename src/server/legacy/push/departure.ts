/**
 * Hands off the calls of a process that stops, each as soon as another instance accepts it. Until then the call stays,
 * takes answers and may ask more, because this instance may not have met another yet.
 */
import { type RequestId, sleep } from '../../../protocol/index.ts'
import type { Instance } from '../../../cluster/index.ts'
import type { StreamHandOff } from './handOff.ts'
import type { PushedCall } from './pushedCall.ts'
import type { WaitingCalls } from './waitingCalls.ts'

export interface DepartureOptions {
  readonly calls: WaitingCalls
  /** Whether another instance could accept a call. */
  readonly canHandOff: () => Promise<boolean>
  /** Hands a call off; returns its new owner, or undefined if no instance accepts it. */
  readonly handOff: (stream: StreamHandOff) => Promise<Instance | undefined>
  /** Cancels a request that runs at another instance. */
  readonly cancel: (session: string, request: RequestId) => void
}

const LOOK_AGAIN_MS = 100
const STOPPING =
  'This instance is being stopped, and knows no other that could wait for the answer. Look whether the call had effects, and repeat it.'

export class Departure {
  readonly #options: DepartureOptions
  readonly #leaving = new Set<PushedCall>()
  #patience: AbortSignal | undefined

  constructor(options: DepartureOptions) {
    this.#options = options
  }

  get hasBegun(): boolean {
    return this.#patience !== undefined
  }

  /** Hands off the waiting calls; on abort, the rest fail. */
  async begin(patience: AbortSignal): Promise<void> {
    this.#patience = patience
    await Promise.all(this.#options.calls.movable().map((asking) => this.#leave(asking, patience)))
  }

  /** Hands off a call that waits from now on, if this process is stopping. */
  waits(asking: PushedCall): void {
    if (this.#patience !== undefined) void this.#leave(asking, this.#patience)
  }

  /** Hands off one call. Does nothing for a call whose connection only this instance has. */
  async #leave(asking: PushedCall, patience: AbortSignal): Promise<void> {
    if (this.#leaving.has(asking)) return
    this.#leaving.add(asking)
    if (asking.move.isBound) await this.#stay(asking, patience)
    while (asking.canMove && asking.move.snapshot !== undefined) {
      // A call with a state outside this process need not wait for a new owner: the instance that gets its answer
      // resumes it.
      const hasTaker = asking.claims.carried || (await this.#options.canHandOff())
      if (hasTaker && (await this.#handOff(asking))) break
      if (asking.claims.carried || patience.aborted) {
        await this.#giveUp(asking)
        break
      }
      if (!hasTaker) await sleep(LOOK_AGAIN_MS, patience).catch(() => {})
    }
    this.#leaving.delete(asking)
  }

  /** Keeps a call that no other instance can resume; it can be answered here until the signal aborts. */
  async #stay(asking: PushedCall, patience: AbortSignal): Promise<void> {
    while (asking.isWaiting && !patience.aborted) await sleep(LOOK_AGAIN_MS, patience).catch(() => {})
    await this.#giveUp(asking)
  }

  /** Returns whether another instance has accepted the call. */
  async #handOff(asking: PushedCall): Promise<boolean> {
    const { move } = asking
    await asking.arrived()
    const snapshot = asking.canMove ? move.snapshot?.() : undefined // an answer may have continued the call
    if (snapshot === undefined) return false
    // Answers to its questions wait until the new owner is known.
    move.newOwner = this.#options.handOff(snapshot)
    const to = await move.newOwner
    move.newOwner = undefined
    if (to === undefined) return false
    const { call, caller } = snapshot
    // The call has ended or was cancelled here in the meantime, so it is cancelled at the new owner.
    if (asking.ended) this.#options.cancel(caller.peer.session ?? '', call.request.id)
    this.#options.calls.leave(asking, to)
    return true
  }

  /** Ends a waiting call. One that waits for something other than an answer continues until the process ends. */
  async #giveUp(asking: PushedCall): Promise<void> {
    await asking.arrived()
    if (!asking.isWaiting) return
    // A call with a state outside this process ends silently, so that another instance can resume it.
    if (asking.claims.carried) this.#options.calls.leave(asking)
    else asking.end(STOPPING)
  }
}
