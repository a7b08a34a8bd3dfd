/**
 * Claims of owned things. A thing enters a new generation each time its owner changes or continues it. One instance
 * claims each generation and signs the claim with its name; the first claim wins.
 */
import { errorDetails, type Logger } from '../protocol/index.ts'
import type { Ledger } from '../state/stores/index.ts'
import { type Instance, readInstance, type Self, writeInstance } from './instance.ts'
import { CLAIM_LONGER_SECONDS, SIGNED_LOOK_MS, SIGNED_WITHIN_MS } from './times.ts'

/**
 * The claimant of a generation. `fresh`: this instance, by this claim. `ended`: the thing has ended and has no owner.
 * `unknown`: the ledger failed, or the claim is not signed. Otherwise the instance that claimed it earlier.
 */
export type Claimant = 'fresh' | 'ended' | 'unknown' | Instance

export interface ClaimsOptions {
  readonly self: Self
  /** Shared by all instances. */
  readonly ledger: Ledger
  /** Lifetime of the state that a claim guards. */
  readonly ttlSeconds: number
  readonly logger: () => Logger
}

const ENDED = 'ended'

export class Claims {
  readonly #options: ClaimsOptions

  constructor(options: ClaimsOptions) {
    this.#options = options
  }

  /**
   * Claims this generation for this instance. `caller`: the caller that the thing belongs to; a ledger may count claims
   * by caller.
   */
  claim(key: string, generation: number, caller: string | undefined): Promise<Claimant> {
    return this.#claim(key, generation, writeInstance(this.#options.self), caller)
  }

  /** Ends the thing: no instance can claim it after that. */
  async end(key: string, generation: number, caller: string | undefined): Promise<void> {
    await this.#claim(key, generation, ENDED, caller)
  }

  /**
   * Claims the first generation, starting at `first`, whose owner is gone. Returns the owner instead if one is alive.
   */
  async claimAfter(
    key: string,
    first: number,
    gone: ReadonlySet<string>,
    caller: string | undefined,
  ): Promise<number | Claimant> {
    for (let generation = first; ; generation++) {
      const claimant = await this.claim(key, generation, caller)
      if (claimant === 'fresh') return generation
      if (typeof claimant === 'string' || !gone.has(claimant.id)) return claimant
    }
  }

  async #claim(key: string, generation: number, signature: unknown, caller: string | undefined): Promise<Claimant> {
    const { ledger, ttlSeconds, logger } = this.#options
    const id = `push/${key}/${generation}`
    try {
      for (let waitedMs = 0; waitedMs <= SIGNED_WITHIN_MS; waitedMs += SIGNED_LOOK_MS) {
        const claim = await ledger.claim(id, ttlSeconds + CLAIM_LONGER_SECONDS, caller)
        if (claim.state === 'fresh') {
          await ledger.settle(id, signature)
          return 'fresh'
        }
        if (claim.state === 'done') return claim.value === ENDED ? 'ended' : (readInstance(claim.value) ?? 'unknown')
        await new Promise((resolve) => setTimeout(resolve, SIGNED_LOOK_MS))
      }
    } catch (error) {
      logger().error({ err: errorDetails(error) }, 'The ledger could not be asked about a call.')
    }
    return 'unknown'
  }
}
