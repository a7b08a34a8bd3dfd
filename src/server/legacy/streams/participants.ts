/**
 * The instances that have to do with a stream whose own instance is gone: where its client waits, and where its call goes
 * on. They may never have heard of each other. In a common ledger each puts down its name after those that came before
 * it, and meets these.
 */
import { digestOf } from '../../../state/internal.ts'
import type { Ledger } from '../../../state/stores/index.ts'
import { Generations, type GenerationsOptions } from '../push/generations.ts'
import type { Peers } from '../../replicas/peers.ts'

export interface ParticipantsOptions extends Omit<GenerationsOptions, 'ledger'> {
  /** Where one is configured. Without it, instances that do not know each other have nothing in common. */
  readonly ledger: Ledger | undefined
  readonly peers: Pick<Peers, 'meet'>
}

// A client whose stream is cut so often is beyond help.
const MAX_PARTICIPANTS = 100

export class Participants {
  readonly #options: ParticipantsOptions
  readonly #claims: Generations | undefined

  constructor(options: ParticipantsOptions) {
    const { ledger } = options
    this.#options = options
    this.#claims = ledger && new Generations({ ...options, ledger })
  }

  /** Resolves when all that came before are being met. `holder` is whose stream it is. */
  async join(stream: string, holder: string): Promise<void> {
    const { peers, self } = this.#options
    if (this.#claims === undefined) return
    const name = `stream/${digestOf(stream)}`
    for (let place = 0; place < MAX_PARTICIPANTS; place++) {
      const claimant = await this.#claims.claim(name, place, holder)
      // Whoever came after this instance has met it.
      if (typeof claimant === 'string' || claimant.id === self.id) return
      peers.meet(claimant)
    }
  }
}
