/**
 * The instances that have to do with a stream whose own instance is gone: where its client waits, and where its call goes
 * on. They may never have heard of each other. In a common ledger each puts down its name after those that came before
 * it, and meets these.
 */
import { digestOf } from '../../../state/internal.ts'
import type { Generations } from '../push/generations.ts'
import type { Peers } from '../../replicas/peers.ts'

export interface ParticipantsOptions {
  /** Where a ledger is configured. Without one, instances that do not know each other have nothing in common. */
  readonly claims: Pick<Generations, 'claim'> | undefined
  readonly peers: Pick<Peers, 'meet'>
  readonly self: { readonly id: string }
}

// A client whose stream is cut so often is beyond help.
const MAX_PARTICIPANTS = 100

export class Participants {
  readonly #options: ParticipantsOptions

  constructor(options: ParticipantsOptions) {
    this.#options = options
  }

  /** Resolves when all that came before are being met. */
  async join(stream: string): Promise<void> {
    const { claims, peers, self } = this.#options
    if (claims === undefined) return
    const name = `stream/${digestOf(stream)}`
    for (let place = 0; place < MAX_PARTICIPANTS; place++) {
      const claimant = await claims.claim(name, place)
      // Whoever came after this instance has met it.
      if (typeof claimant === 'string' || claimant.id === self.id) return
      peers.meet(claimant)
    }
  }
}
