/**
 * Which instance goes on with a call. Each time a call goes on from an answer it enters a new generation, and each
 * generation is claimed by one instance, in place or elsewhere, which signs the claim with its name.
 */
import type { Ledger } from '../../../state/stores/index.ts'
import { errorDetails, type Logger } from '../../logger.ts'
import { type Instance, readInstance, type Self, writeInstance } from '../../replicas/instance.ts'

/** Who has claimed a generation: this instance just now, an instance before; the call has ended; or nobody can tell. */
export type Claimant = 'fresh' | 'ended' | 'unknown' | Instance

export interface GenerationsOptions {
  readonly self: Self
  /** Common to all instances. */
  readonly ledger: Ledger
  readonly ttlSeconds: number
  readonly logger: () => Logger
}

// A state may open up to a second longer than `ttlSeconds`, and clocks differ: what guards it must outlive it.
const CLAIM_LONGER_SECONDS = 60
// Between a claim and its signature nobody can tell whose it is.
const SIGNED_WITHIN_MS = 1000
const LOOK_AGAIN_MS = 20
const ENDED = 'ended'

export class Generations {
  readonly #options: GenerationsOptions

  constructor(options: GenerationsOptions) {
    this.#options = options
  }

  /** Claims this generation for this instance. `holder` is whose call it is: a ledger may count claims by it. */
  claim(call: string, generation: number, holder: string | undefined): Promise<Claimant> {
    return this.#claim(call, generation, writeInstance(this.#options.self), holder)
  }

  /** Nobody is to go on with the call any more. */
  end(call: string, generation: number, holder: string | undefined): void {
    void this.#claim(call, generation, ENDED, holder)
  }

  /** The first generation from here on that no instance has which is still there, claimed; or who has it instead. */
  async claimAfter(
    call: string,
    first: number,
    gone: ReadonlySet<string>,
    holder: string | undefined,
  ): Promise<number | Claimant> {
    for (let generation = first; ; generation++) {
      const claimant = await this.claim(call, generation, holder)
      if (claimant === 'fresh') return generation
      if (typeof claimant === 'string' || !gone.has(claimant.id)) return claimant
    }
  }

  async #claim(call: string, generation: number, signature: unknown, holder: string | undefined): Promise<Claimant> {
    const { ledger, ttlSeconds, logger } = this.#options
    const id = `push/${call}/${generation}`
    try {
      for (let waitedMs = 0; waitedMs <= SIGNED_WITHIN_MS; waitedMs += LOOK_AGAIN_MS) {
        const claim = await ledger.claim(id, ttlSeconds + CLAIM_LONGER_SECONDS, holder)
        if (claim.state === 'fresh') {
          await ledger.settle(id, signature)
          return 'fresh'
        }
        if (claim.state === 'done') return claim.value === ENDED ? 'ended' : (readInstance(claim.value) ?? 'unknown')
        await new Promise((resolve) => setTimeout(resolve, LOOK_AGAIN_MS))
      }
    } catch (error) {
      logger().error({ err: errorDetails(error) }, 'The ledger could not be asked about a call.')
    }
    return 'unknown'
  }
}
