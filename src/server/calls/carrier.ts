/**
 * The carrier of a journal between rounds: the client, a store, or both (ST-22…25, for the migration away from a
 * session store).
 *
 * - A journal in the store is sealed and bound in the same way as one with the client.
 * - A state that the store has, too, has the name of its row in front of the seal. 'both' compares it with that row.
 * - Absent state starts a new call; bad state is an error. Only 'client-first' then reads the store, by the row's name,
 *   and opens the row under the same binding.
 * - Every mode opens the states of every other one, if it has the store, so that a change of mode loses no call.
 */
import type { InputRequest } from '@modelcontextprotocol/client'
import { type Journal, newJournal, nextRound, readJournal, writeJournal } from '../../journal/index.ts'
import { ProtocolError } from '../../protocol/index.ts'
import { digestOf, StateError } from '../../state/internal.ts'
import type { Binding, RoundSealer, Sealed } from '../../state/seal/index.ts'
import type { CarryStore } from '../../state/stores/index.ts'
import type { Call } from '../call.ts'
import type { Carry, CarryRules, Difference } from '../catalog/carry.ts'
import { errorDetails, type Logger } from '../logger.ts'
import { bindingOf, newId, sealedWithin, unsealed } from '../binding.ts'
import { ServerError } from '../errors.ts'
import type { CallLifetime } from './lifetime.ts'

/** The binding of a state beside its caller. */
export interface Subject {
  readonly name: string
  readonly args: unknown
  /** The entry's own choice of carriers. */
  readonly carry?: Carry | undefined
}

export interface CarrierOptions {
  readonly rules: CarryRules
  /** Seals journals for the client. */
  readonly sealer: RoundSealer
  /** Seals journals for the store, which may be larger. */
  readonly vault: RoundSealer
  readonly store: CarryStore | undefined
  readonly ttlSeconds: number
  readonly lifetime: CallLifetime
  readonly clock: () => number
  readonly onDifference: (difference: Difference) => void
  readonly logger: () => Logger
}

const NAME_END = '~'

export class Carrier {
  readonly #options: CarrierOptions

  constructor(options: CarrierOptions) {
    this.#options = options
  }

  /** The journal that a request brings, or a new one. */
  open(call: Call, subject: Subject): Journal | Promise<Journal> {
    const state = call.params['requestState']
    if (state === undefined) return newJournal(newId)
    if (typeof state !== 'string') throw new ProtocolError('PARAMS_INVALID', '"requestState" must be a string.')
    const binding = callBinding(call, subject)
    const nameEnd = state.indexOf(NAME_END)
    const row = nameEnd < 0 ? undefined : state.slice(0, nameEnd)
    return this.#checked(this.#openBy(call, subject, binding, state.slice(nameEnd + 1), row), row)
  }

  async #checked(opening: Journal | Promise<Journal>, row: string | undefined): Promise<Journal> {
    const journal = await opening
    if (row !== undefined && row !== rowName(journal))
      throw new StateError('STATE_TAMPERED', 'State failed verification.')
    this.#options.lifetime.assertAlive(journal)
    return journal
  }

  #openBy(
    call: Call,
    { name, carry }: Subject,
    binding: Binding,
    token: string,
    row: string | undefined,
  ): Journal | Promise<Journal> {
    const { rules } = this.#options
    if (row === undefined) return this.#openSealed(binding, token)
    const opening = rules.mayBe('client-first', carry)
      ? this.#openClientFirst(binding, token, row)
      : this.#openSealed(binding, token)
    return rules.mayBe('both', carry) ? this.#compared(call, name, binding, opening) : opening
  }

  /** Stores the journal as the mode of these questions says, and gives the `requestState` for the client. */
  async save(call: Call, subject: Subject, journal: Journal, requests: Iterable<InputRequest>): Promise<string> {
    const binding = callBinding(call, subject)
    const { rules, sealer, lifetime } = this.#options
    const mode = rules.modeOfRound(requests, subject.carry)
    lifetime.begin(journal)
    const { id, round } = nextRound(journal)
    const next = { id, round, body: writeJournal(journal) }
    if (mode === 'store') return this.#saveInStore(binding, next)
    const sealing = sealedWithin(() => sealer.seal('request', binding, next))
    const sealed = sealing instanceof Promise ? await sealing.catch(unsealed) : sealing
    if (sealed === undefined) return this.#saveInStore(binding, next)
    if (mode === 'client') return sealed
    await this.#putBeside(binding, next)
    return `${rowName(next)}${NAME_END}${sealed}`
  }

  #openSealed(binding: Binding, token: string): Journal | Promise<Journal> {
    try {
      const opened = this.#options.sealer.open('request', binding, token)
      if (!(opened instanceof Promise)) return journalOf(opened)
      return opened.then(journalOf).catch((error: unknown) => this.#openStored(binding, token, error))
    } catch (error) {
      return this.#openStored(binding, token, error)
    }
  }

  /** The client has a ticket if the journal is in the store, because of the mode or of its size. */
  async #openStored(binding: Binding, token: string, error: unknown): Promise<Journal> {
    const { sealer, store } = this.#options
    if (store === undefined || !isPurpose(error)) throw error
    return this.#fromStore(binding, rowName(await sealer.open('ticket', binding, token)))
  }

  async #compared(
    { method }: Call,
    name: string,
    binding: Binding,
    opening: Journal | Promise<Journal>,
  ): Promise<Journal> {
    const mine = await opening
    const reason = await this.#compare(binding, mine)
    if (reason !== undefined) this.#options.onDifference({ method, name, reason })
    return mine
  }

  async #compare(binding: Binding, mine: Journal): Promise<Difference['reason'] | undefined> {
    try {
      const stored = await this.#fromStore(binding, rowName(mine))
      return digestOf(writeJournal(stored)) === digestOf(writeJournal(mine)) ? undefined : 'different'
    } catch (error) {
      return error instanceof StateError && error.code === 'STATE_MISSING' ? 'missing-in-store' : 'unreadable-in-store'
    }
  }

  async #openClientFirst(binding: Binding, token: string, row: string): Promise<Journal> {
    try {
      return await this.#openSealed(binding, token)
    } catch (error) {
      if (!(error instanceof StateError)) throw error
      const stored = await this.#fromStore(binding, row)
      this.#options
        .logger()
        .warn({ code: error.code }, 'The state of the client could not be opened; the one in the store was used.')
      return stored
    }
  }

  async #fromStore(binding: Binding, row: string): Promise<Journal> {
    const token = await this.#options.store?.get(row)
    if (token === undefined)
      throw new StateError(
        'STATE_MISSING',
        'The state is not in the store (any more); repeat the call from its first round.',
      )
    return journalOf(await this.#options.vault.open('request', binding, token))
  }

  async #saveInStore(binding: Binding, next: Next): Promise<string> {
    if (this.#options.store === undefined) {
      throw new ServerError(
        'STATE_STORE_NEEDED',
        'The journal of this call is too large to send to the client. Keep the results of steps small ' +
          '(an id instead of a document), raise maxStateBytes, or give the server a store.',
      )
    }
    await this.#put(binding, next)
    return this.#options.sealer.seal('ticket', binding, { ...next, body: null })
  }

  /** The client has the state as well, so a failure of the store is logged and does not fail the call. */
  async #putBeside(binding: Binding, next: Next): Promise<void> {
    try {
      await this.#put(binding, next)
    } catch (error) {
      this.#options
        .logger()
        .warn({ err: errorDetails(error) }, 'The store could not save a state; only the client has it.')
    }
  }

  async #put(binding: Binding, next: Next): Promise<void> {
    const { store, vault, clock, ttlSeconds } = this.#options
    await store?.put(rowName(next), await vault.seal('request', binding, next), Math.ceil(clock() / 1000) + ttlSeconds)
  }
}

function journalOf({ id, round, body }: Sealed): Journal {
  return readJournal(id, round, body)
}

interface Next {
  readonly id: string
  readonly round: number
  readonly body: unknown
}

/** Each round has its own row, so a round that is sent twice starts from the same journal both times. */
function rowName({ id, round }: { readonly id: string; readonly round: number }): string {
  return `${id}.${round}`
}

/** Binds a state to its caller and to the call: other arguments or another tool do not open it. */
function callBinding(call: Call, { name, args }: Subject): Binding {
  return { ...bindingOf(call), method: call.method, name, argumentsDigest: digestOf(args ?? {}) }
}

function isPurpose(error: unknown): boolean {
  return error instanceof StateError && error.code === 'STATE_PURPOSE'
}
