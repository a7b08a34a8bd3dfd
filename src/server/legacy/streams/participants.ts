/**
 * The instances that take part in a stream whose own instance is gone: where its client waits, and where its call was
 * resumed. They may not know each other. Each adds its name to a shared ledger after those before it, and meets them.
 */
import { Claims, type ClaimsOptions, type Members } from '../../../cluster/index.ts'
import { digestOf } from '../../../state/internal.ts'
import type { Ledger } from '../../../state/stores/index.ts'

export interface ParticipantsOptions extends Omit<ClaimsOptions, 'ledger'> {
  /** The configured ledger. Without it, instances that do not know each other share nothing. */
  readonly ledger: Ledger | undefined
  readonly members: Pick<Members, 'meet'>
}

// Maximum number of participants: a stream that breaks more often is given up.
const MAX_PARTICIPANTS = 100

export class Participants {
  readonly #options: ParticipantsOptions
  readonly #claims: Claims | undefined

  constructor(options: ParticipantsOptions) {
    const { ledger } = options
    this.#options = options
    this.#claims = ledger && new Claims({ ...options, ledger })
  }

  /**
   * Resolves when all earlier participants are being met; with false if there is no ledger to find them in. `holder`:
   * the owner of the stream.
   */
  async join(stream: string, holder: string): Promise<boolean> {
    const { members, self } = this.#options
    if (this.#claims === undefined) return false
    const name = `stream/${digestOf(stream)}`
    for (let place = 0; place < MAX_PARTICIPANTS; place++) {
      const claimant = await this.#claims.claim(name, place, holder)
      // Later participants have met this instance.
      if (typeof claimant === 'string' || claimant.id === self.id) break
      members.meet(claimant)
    }
    return true
  }
}
