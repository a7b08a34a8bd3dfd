/**
 * A ledger for instances without a shared one: the oldest member, which has the least id, is the keeper of the claims,
 * in memory. When it stops, it hands them off to the next keeper. When it crashes, its claims are lost, so instances
 * need a shared ledger if a call must not be resumed twice even then.
 */
import { isObject, type Json } from '../protocol/index.ts'
import { StateError } from '../state/internal.ts'
import { type Claim, ExpiringMap, type Ledger } from '../state/stores/index.ts'
import type { Instance, Self } from './instance.ts'
import type { Messenger } from './messenger.ts'
import type { Members } from './members.ts'
import { CLAIMS_EACH } from './times.ts'

export interface MemberLedgerOptions {
  readonly self: Self
  readonly members: Members
  readonly messenger: Pick<Messenger, 'send'>
  /** The ledger of this process. */
  readonly local: Ledger
  readonly clock: () => number
}

export interface MemberLedger extends Ledger {
  /** Serves a request of another instance. */
  serve(message: Json): Promise<Json>
  /** Hands the claims off to the next keeper, if there is one. After that this instance keeps none. */
  handOff(): Promise<void>
}

export function memberLedger(options: MemberLedgerOptions): MemberLedger {
  const { self, members, messenger, clock } = options
  const kept = new KeptClaims(options.local, clock)
  let handingOff: Promise<void> | undefined
  /** The members that have handed their claims off. */
  const former = new Set<string>()

  const keeper = async (): Promise<Instance> => {
    const keeping = (await members.all()).filter(({ id }) => !former.has(id))
    return oldest(keeping, handingOff === undefined ? self : undefined) ?? self
  }

  /** The reply of a keeper; undefined if it no longer keeps claims. */
  const post = async (to: Instance, message: Json): Promise<Json | undefined> => {
    const delivery = await messenger.send(to, { kind: 'ledger', ...message })
    const reply: unknown =
      delivery.kind === 'delivered' ? await delivery.response.json().catch(() => undefined) : undefined
    if (isObject(reply) && reply['isHandedOff'] !== true) return reply
    if (isObject(reply)) former.add(to.id)
    else members.lose(to)
    return undefined
  }

  /** The reply of the keeper; undefined when this instance is the keeper. */
  const ask = async (message: Json): Promise<Json | undefined> => {
    for (;;) {
      await handingOff
      const chosen = await keeper()
      if (chosen.id === self.id) return undefined
      const reply = await post(chosen, message)
      if (reply !== undefined) return reply
    }
  }

  /** Sends all claims to one member; if that member is gone or stopping, starts again with the next. */
  const handOffAll = async (): Promise<void> => {
    const claims = kept.live()
    for (let at = 0; at < claims.length; ) {
      const next = oldest(members.knownToStay().filter(({ id }) => !former.has(id)))
      if (next === undefined) return
      const reply = await post(next, { op: 'take', claims: claims.slice(at, at + CLAIMS_EACH) })
      at = reply === undefined ? 0 : at + CLAIMS_EACH
    }
  }

  return {
    async claim(id, ttlSeconds, holder) {
      const attempt = crypto.randomUUID()
      const reply = await ask({ op: 'claim', id, ttlSeconds, attempt, ...(holder !== undefined && { holder }) })
      return reply === undefined ? kept.claim(id, ttlSeconds, holder) : readClaim(reply)
    },
    async settle(id, value) {
      if ((await ask({ op: 'settle', id, value })) === undefined) await kept.settle(id, value)
    },
    async release(id) {
      if ((await ask({ op: 'release', id })) === undefined) await kept.release(id)
    },
    async serve({ op, id, ttlSeconds, holder, attempt, value, claims }) {
      if (handingOff !== undefined) {
        await handingOff
        return { isHandedOff: true }
      }
      const by = typeof holder === 'string' ? holder : undefined
      if (op === 'claim') return kept.claim(String(id), Number(ttlSeconds), by, String(attempt))
      if (op === 'settle') await kept.settle(String(id), value)
      if (op === 'release') await kept.release(String(id))
      if (op === 'take') await kept.take(claims as readonly HandedOffClaim[])
      return {}
    },
    async handOff() {
      if ((await members.staying()).length > 0) handingOff ??= handOffAll()
      await handingOff
    },
  }
}

function oldest(members: readonly Instance[], self?: Instance): Instance | undefined {
  return members.reduce((least, member) => (least !== undefined && least.id < member.id ? least : member), self)
}

interface KeptClaim {
  readonly caller: string | undefined
  /** The attempt that claimed it, which recognizes the same message after a lost reply. */
  readonly attempt: string | undefined
  isDone: boolean
  value: unknown
}

type HandedOffClaim = readonly [id: string, leftSeconds: number, caller: string | null, isDone: boolean, value: unknown]

/** The ledger of this process, with the claims in a form that can be handed off. */
class KeptClaims implements Ledger {
  readonly #local: Ledger
  readonly #clock: () => number
  readonly #claims: ExpiringMap<KeptClaim>

  constructor(local: Ledger, clock: () => number) {
    this.#local = local
    this.#clock = clock
    this.#claims = new ExpiringMap(clock)
  }

  async claim(id: string, ttlSeconds: number, caller?: string, attempt?: string): Promise<Claim> {
    const claim = await this.#local.claim(id, ttlSeconds, caller)
    const expiresAt = this.#clock() + ttlSeconds * 1000
    if (claim.state === 'fresh') this.#claims.set(id, { caller, attempt, isDone: false, value: undefined }, expiresAt)
    const isAgain = claim.state === 'running' && attempt !== undefined && this.#claims.get(id)?.attempt === attempt
    return isAgain ? { state: 'fresh' } : claim
  }

  async settle(id: string, value: unknown): Promise<void> {
    await this.#local.settle(id, value)
    const claim = this.#claims.get(id)
    if (claim === undefined || claim.isDone) return
    claim.isDone = true
    claim.value = value
  }

  async release(id: string): Promise<void> {
    await this.#local.release(id)
    if (this.#claims.get(id)?.isDone === false) this.#claims.delete(id)
  }

  live(): HandedOffClaim[] {
    const now = this.#clock()
    return Array.from(
      this.#claims.live(),
      ([id, { caller, isDone, value }, expiresAt]) =>
        [id, (expiresAt - now) / 1000, caller ?? null, isDone, value] as const,
    )
  }

  async take(claims: readonly HandedOffClaim[]): Promise<void> {
    for (const [id, leftSeconds, caller, isDone, value] of claims) {
      const { state } = await this.claim(id, leftSeconds, caller ?? undefined)
      if (isDone && state === 'fresh') await this.settle(id, value)
    }
  }
}

/**
 * Reads the keeper's reply. A keeper that refuses, for example because its memory is full, is alive and stays the
 * keeper.
 */
function readClaim({ state, value }: Json): Claim {
  if (state === 'fresh' || state === 'running') return { state }
  if (state === 'done') return { state, value }
  const advice = 'its log says why; give all instances a common ledger'
  throw new StateError('STORE_UNAVAILABLE', `The instance that keeps the claims did not take this one; ${advice}.`)
}
