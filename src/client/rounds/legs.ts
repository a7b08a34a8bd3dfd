/**
 * Sends legs of calls. Over HTTP a leg with answers or a state that reaches no server is repeated for some seconds:
 * everything that a server needs is in it, and any instance may take it. A leg whose answer breaks off is repeated, too.
 */
import { sleep } from '../../protocol/index.ts'
import type { LayerContext } from '../layer/layer.ts'
import { requestSignalIn, type WireRequest } from '../layer/message.ts'
import type { SendOptions } from '../layer/transport.ts'
import { reachedNobody, Retries, retryAfterMsIn } from '../retries.ts'
import type { RoundCall, RoundCalls } from './call.ts'

/** How often a round whose answer breaks off is sent again. */
const MAX_BREAKS = 3

export class Legs {
  readonly #context: LayerContext
  readonly #calls: RoundCalls
  readonly #isRepeating: boolean

  /** `isRepeating` is false for a process: one that has ended does not come back. */
  constructor(context: LayerContext, calls: RoundCalls, isRepeating: boolean) {
    this.#context = context
    this.#calls = calls
    this.#isRepeating = isRepeating
  }

  /** The first leg. It has no answers and no state, so each time it is sent a new call begins. */
  sendFirst(call: RoundCall): Promise<void> {
    if (call.bringsAnswers) return this.send(call, call.request, call.options)
    this.#calls.legSent(call)
    return this.#context.send(call.request, call.options)
  }

  /** Rejects with the last failure. Each time the leg has a fresh id, since the one before may have arrived after all. */
  async send(call: RoundCall, first: WireRequest, options: SendOptions | undefined): Promise<void> {
    const retries = new Retries()
    let leg = first
    call.leg = first
    let failure = await this.#try(call, leg, options)
    while (failure !== undefined) {
      const { cause } = failure
      const isRepeated = this.#isRepeating && reachedNobody(cause)
      const pauseMs = isRepeated ? retries.nextPauseMs(retryAfterMsIn(cause)) : undefined
      if (pauseMs === undefined) throw cause
      await this.#pause(call, pauseMs)
      leg = call.again(leg)
      failure = await this.#try(call, leg, call.nextOptions)
    }
  }

  /** Whether a leg is sent again when its response broke off. */
  mayRepeat({ leg, breaks }: RoundCall): boolean {
    return this.#isRepeating && leg !== undefined && breaks < MAX_BREAKS
  }

  /** The response broke off: sends the leg again after a pause. */
  async repeat(call: RoundCall): Promise<void> {
    const { leg } = call
    const pauseMs = new Retries().nextPauseMs()
    if (leg === undefined || pauseMs === undefined) return
    call.breaks++
    await this.#pause(call, pauseMs)
    await this.send(call, call.again(leg), call.nextOptions)
  }

  async #try(
    call: RoundCall,
    leg: WireRequest,
    options: SendOptions | undefined,
  ): Promise<{ readonly cause: unknown } | undefined> {
    this.#calls.legSent(call)
    try {
      await this.#context.send(leg, options)
      return undefined
    } catch (cause) {
      // The answer may have come although sending failed, and the call be in a later round by now.
      return this.#calls.byLeg(leg.id) === call ? { cause } : undefined
    }
  }

  /** During the pause no leg is under way, and the call can be cancelled. */
  async #pause(call: RoundCall, ms: number): Promise<void> {
    this.#calls.legAnswered(call)
    this.#calls.continues(call)
    const caller = requestSignalIn(call.options)
    await sleep(ms, caller === undefined ? call.signal : AbortSignal.any([call.signal, caller]))
  }
}
