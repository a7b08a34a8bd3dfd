/**
 * How long one call may live over all its rounds. Each round renews the state, so without this limit a call could outlive
 * its claims in the ledger, and `once` would run a second time.
 */
import type { Journal } from '../../journal/index.ts'
import { DAY_SECONDS } from '../../protocol/index.ts'
import { StateError } from '../../state/internal.ts'

export interface CallLifetimeOptions {
  /** How long a client may take between two rounds. */
  readonly ttlSeconds: number
  /** @default a day, or four times `ttlSeconds` if that is more */
  readonly maxCallSeconds?: number | undefined
  /** Milliseconds since 1970. */
  readonly clock: () => number
}

export class CallLifetime {
  readonly #clock: () => number
  readonly #maxSeconds: number

  constructor({ ttlSeconds, maxCallSeconds = Math.max(DAY_SECONDS, 4 * ttlSeconds), clock }: CallLifetimeOptions) {
    this.#clock = clock
    this.#maxSeconds = maxCallSeconds
  }

  /** How long the ledger keeps a claim of a call: longer than the call can live. */
  get claimSeconds(): number {
    return 2 * this.#maxSeconds
  }

  /** Notes when the call began, before its journal is kept anywhere. */
  begin(journal: Journal): void {
    journal.begunAt ??= Math.floor(this.#clock() / 1000)
  }

  assertAlive({ begunAt }: Journal): void {
    if (begunAt === undefined || this.#clock() / 1000 <= begunAt + this.#maxSeconds) return
    throw new StateError('STATE_EXPIRED', 'The call is older than maxCallSeconds; repeat it from its first round.')
  }
}
