/**
 * How calls leave a process that stops: each goes to another instance as soon as one is there. Until then it stays, its
 * answers are taken and it may ask more, because this instance may not have met another yet.
 */
import { type RequestId, sleep } from '../../../protocol/index.ts'
import type { Instance } from '../../replicas/instance.ts'
import type { CallHandOver, StreamHandOver } from './handOver.ts'
import type { PushedCall } from './pushedCall.ts'
import type { WaitingCalls } from './waitingCalls.ts'

export interface DepartureOptions {
  readonly calls: WaitingCalls
  /** Whether another instance is there that may take a call. */
  readonly canHandOver: () => Promise<boolean>
  /** Gives a call to another instance; gives that instance, or undefined when there is none to take it. */
  readonly handOver: (stream: StreamHandOver) => Promise<Instance | undefined>
  /** Another instance goes on with the call. */
  readonly onMoved: (call: CallHandOver, to: Instance) => void
  /** Cancels a request that is under way at another instance. */
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

  /** From now on calls leave. When the signal aborts, those that no other instance took are told. */
  async begin(patience: AbortSignal): Promise<void> {
    this.#patience = patience
    await Promise.all(this.#options.calls.movable().map((asking) => this.#leave(asking, patience)))
  }

  /** The call waits now. */
  waits(asking: PushedCall): void {
    if (this.#patience !== undefined) void this.#leave(asking, this.#patience)
  }

  /** Does nothing for a call on a connection that no other instance has. */
  async #leave(asking: PushedCall, patience: AbortSignal): Promise<void> {
    if (this.#leaving.has(asking)) return
    this.#leaving.add(asking)
    if (asking.isBound) await this.#stay(asking, patience)
    while (asking.canMove && asking.snapshot !== undefined) {
      // A call whose state is out there waits for nobody: whoever gets its answer goes on with it.
      const hasTaker = asking.carried || (await this.#options.canHandOver())
      if (hasTaker && (await this.#handOver(asking))) break
      if (asking.carried || patience.aborted) {
        await this.#giveUp(asking)
        break
      }
      if (!hasTaker) await sleep(LOOK_AGAIN_MS, patience).catch(() => {})
    }
    this.#leaving.delete(asking)
  }

  /** Nobody else can go on with it, so it may be answered here for as long as there is patience. */
  async #stay(asking: PushedCall, patience: AbortSignal): Promise<void> {
    while (asking.isWaiting && !patience.aborted) await sleep(LOOK_AGAIN_MS, patience).catch(() => {})
    await this.#giveUp(asking)
  }

  /** Whether another instance has the call now. */
  async #handOver(asking: PushedCall): Promise<boolean> {
    await settled(asking)
    const snapshot = asking.canMove ? asking.snapshot?.() : undefined // an answer may have let it go on
    if (snapshot === undefined) return false
    // Until it is clear who goes on, answers to its questions wait.
    asking.handingOver = this.#options.handOver(snapshot)
    const to = await asking.handingOver
    asking.handingOver = undefined
    if (to === undefined) return false
    const { call, caller } = snapshot
    // It ended here meanwhile, or was cancelled, which the other one does not know.
    if (asking.ended) this.#options.cancel(caller.peer.session ?? '', call.request.id)
    this.#options.onMoved(call, to)
    this.#options.calls.leave(asking)
    return true
  }

  /** A call that waits for something other than an answer goes on here for as long as the process does. */
  async #giveUp(asking: PushedCall): Promise<void> {
    await settled(asking)
    if (!asking.isWaiting) return
    // A call whose state is out there ends without a word, so that another instance can go on with it.
    if (asking.carried) this.#options.calls.leave(asking)
    else asking.end(STOPPING)
  }
}

/** Answers that are being taken may let the call go on. */
async function settled(asking: PushedCall): Promise<void> {
  while (asking.isArriving) await asking.arrived()
}
