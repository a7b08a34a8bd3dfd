/**
 * Claims between instances that share no ledger: one of them, which all choose alike, keeps them in its memory. When it
 * dies its claims die with it, so where a call must not go on twice even then, instances need a ledger of their own.
 */
import { isObject, type Json } from '../../protocol/index.ts'
import { StateError } from '../../state/internal.ts'
import type { Claim, Ledger } from '../../state/stores/index.ts'
import type { Instance, Self } from './instance.ts'
import type { Messenger } from './messenger.ts'
import type { Peers } from './peers.ts'

export interface PeerLedgerOptions {
  readonly self: Self
  readonly peers: Peers
  readonly messenger: Pick<Messenger, 'send'>
  /** The ledger of this process. */
  readonly local: Ledger
}

export interface PeerLedger extends Ledger {
  /** Does what another instance asks of the ledger here. */
  serve(message: Json): Promise<Json>
}

export function peerLedger({ self, peers, messenger, local }: PeerLedgerOptions): PeerLedger {
  /** Of all instances that are there, the one with the smallest id. */
  const keeper = async (): Promise<Instance> =>
    (await peers.all()).reduce<Instance>((least, peer) => (peer.id < least.id ? peer : least), self)

  /** What the keeper replies; undefined when this instance is the keeper. */
  const ask = async (message: Json): Promise<Json | undefined> => {
    for (;;) {
      const chosen = await keeper()
      if (chosen.id === self.id) return undefined
      const delivery = await messenger.send(chosen, { kind: 'ledger', ...message })
      const reply: unknown =
        delivery.kind === 'delivered' ? await delivery.response.json().catch(() => undefined) : undefined
      if (isObject(reply)) return reply
      peers.lose(chosen)
    }
  }

  return {
    async claim(id, ttlSeconds, holder) {
      const reply = await ask({ op: 'claim', id, ttlSeconds, ...(holder !== undefined && { holder }) })
      return reply === undefined ? local.claim(id, ttlSeconds, holder) : readClaim(reply)
    },
    async settle(id, value) {
      if ((await ask({ op: 'settle', id, value })) === undefined) await local.settle(id, value)
    },
    async release(id) {
      if ((await ask({ op: 'release', id })) === undefined) await local.release(id)
    },
    async serve({ op, id, ttlSeconds, holder, value }) {
      const by = typeof holder === 'string' ? holder : undefined
      if (op === 'claim') return local.claim(String(id), Number(ttlSeconds), by)
      if (op === 'settle') await local.settle(String(id), value)
      if (op === 'release') await local.release(String(id))
      return {}
    },
  }
}

/** Its memory may be full, for example. It is there all the same, so nobody else keeps the claims. */
function readClaim({ state, value }: Json): Claim {
  if (state === 'fresh' || state === 'running') return { state }
  if (state === 'done') return { state, value }
  const advice = 'its log says why; give all instances a common ledger'
  throw new StateError('STORE_UNAVAILABLE', `The instance that keeps the claims did not take this one; ${advice}.`)
}
