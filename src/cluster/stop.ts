/**
 * How a process leaves its cluster: it announces its stop, polls for urgent events while it drains, and says goodbye.
 */
import { type Json, settledWithin, sleep } from '../protocol/index.ts'
import type { Forwarding } from './forward.ts'
import type { Instance } from './instance.ts'
import type { MemberLedger } from './memberLedger.ts'
import type { Members } from './members.ts'
import { discard, type Messenger } from './messenger.ts'
import { FETCH_EVENTS_EVERY_MS, LEFT_WITHIN_MS, STOPPING_WITHIN_MS } from './times.ts'

export interface StopOptions {
  readonly members: Members
  readonly messenger: Messenger
  readonly forwarding: Forwarding
  /** The claims that this process keeps for others. */
  readonly ledger: MemberLedger
  /** Handles the events of another instance. */
  readonly hear: (events: unknown) => void
}

export class ClusterStop {
  readonly #options: StopOptions
  readonly #left = new AbortController()
  #announced: Promise<void> | undefined
  #fetching: Promise<void> | undefined

  constructor(options: StopOptions) {
    this.#options = options
  }

  /** Announces the stop, so that the others do not count this process as crashed while it hands off what it owns. */
  announce(): Promise<void> {
    this.#options.members.isStopping = true
    this.#announced ??= settledWithin(this.#tellStop(), STOPPING_WITHIN_MS)
    this.#fetching ??= this.#fetchUrgent(this.#left.signal)
    return this.#announced
  }

  /** Ends the polls before the goodbye: a message after it would make this instance look alive. */
  async endPolls(): Promise<void> {
    this.#left.abort()
    await this.#fetching
  }

  sayBye(): Promise<void> {
    const { members, ledger } = this.#options
    const bye = async (): Promise<void> => {
      await Promise.all([members.flush(), ledger.handOff()])
      await this.#tellAll({ kind: 'bye' })
    }
    return settledWithin(bye(), LEFT_WITHIN_MS)
  }

  /** Hands off the claims before it announces the stop, so that other instances find the next keeper. */
  async #tellStop(): Promise<void> {
    await this.#options.ledger.handOff()
    await this.#tellAll({ kind: 'stopping' })
  }

  /**
   * Polls the members for urgent events: a stopping instance may still get calls on open connections when others can no
   * longer reach it.
   */
  async #fetchUrgent(signal: AbortSignal): Promise<void> {
    const { members, forwarding, hear } = this.#options
    const fetchFrom = async (member: Instance): Promise<void> => {
      const reply = await forwarding.ask(member, { kind: 'recent' })
      hear(reply?.['events'])
    }
    while (!signal.aborted) {
      await sleep(FETCH_EVENTS_EVERY_MS, signal).catch(() => {})
      if (!signal.aborted) await Promise.all((await members.all()).map(fetchFrom))
    }
  }

  async #tellAll(message: Json): Promise<void> {
    const { members, messenger } = this.#options
    const tell = async (to: Instance): Promise<void> => {
      const delivery = await messenger.send(to, message)
      if (delivery.kind === 'delivered') await discard(delivery.response)
    }
    await Promise.all(members.known().map(tell))
  }
}
