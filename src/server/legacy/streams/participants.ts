/**
 * The instances that participate in a stream whose own instance is gone: the one where its client waits, and the one
 * that has resumed its call. They may not know each other. Each adds its name to a list in a shared ledger, and meets
 * the earlier ones.
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
   * Joins the participants; resolves when all earlier ones are being met, with false if there is no ledger. `holder`:
   * the owner of the stream.
   */
  async join(stream: string, holder: string): Promise<boolean> {
    const { members, self } = this.#options
    if (this.#claims === undefined) return false
    const name = `stream/${digestOf(stream)}`
    for (let place = 0; place < MAX_PARTICIPANTS; place++) {
      const claimant = await this.#claims.claim(name, place, holder)
      // Later participants meet this instance.
      if (typeof claimant === 'string' || claimant.id === self.id) break
      members.meet(claimant)
    }
    return true
  }
}
