/**
 * The carrier of a journal that waits for an answer: chosen for the server, for a tool, prompt or resource, and for a
 * kind of question. The narrower choice counts.
 */
import type { InputRequest } from '@modelcontextprotocol/client'
import type { Logger } from '../logger.ts'
import { assertOptionNames, type OptionNames } from '../../protocol/index.ts'

/** The steps of SEP-1685 from a store to none; 'process' sends no state with pushed questions, and stores none. */
export type CarryMode = 'store' | 'both' | 'client-first' | 'client' | 'process'

/**
 * The carrier of a waiting journal, by the kind of the question. A kind that is left out has the mode of the server.
 */
export interface CarryByKind {
  form?: CarryMode
  url?: CarryMode
  sampling?: CarryMode
  roots?: CarryMode
}

/** One mode for all questions, or one for each kind of question that is named. */
export type Carry = CarryMode | CarryByKind

export interface CarryOptions {
  /** The carrier of a journal that waits for an answer, for all questions or by kind. @default the server's */
  carry?: Carry
}

export const CARRY_OPTIONS: OptionNames<CarryOptions> = { carry: true }

/** The report of `carry: 'both'`: names and a reason, without any content of the journals. */
export interface Difference {
  readonly method: string
  readonly name: string
  readonly reason: 'missing-in-store' | 'unreadable-in-store' | 'different'
}

/** The holders of a pushed question's state beside the process that asked. */
export interface Carriers {
  readonly client: boolean
  readonly store: boolean
}

const KINDS: OptionNames<CarryByKind> = { form: true, url: true, sampling: true, roots: true }
const QUESTION_KINDS = Object.keys(KINDS) as (keyof CarryByKind)[]
const NO_KIND = undefined

const CARRIERS: Readonly<Record<CarryMode, Carriers>> = {
  store: { client: false, store: true },
  both: { client: true, store: true },
  'client-first': { client: true, store: true },
  client: { client: true, store: false },
  process: { client: false, store: false },
}
const MODES = Object.keys(CARRIERS) as CarryMode[]

export class CarryRules {
  readonly #carry: Carry | undefined
  readonly #hasStore: boolean
  /** Undefined is the default. */
  readonly #inUse = new Set<CarryMode | undefined>()

  constructor(carry: Carry | undefined, hasStore: boolean) {
    this.#carry = carry
    this.#hasStore = hasStore
    this.admit(carry, 'createServer')
  }

  /** Checks the choice of an entry, or of the server; `what` names it in the error. */
  admit(carry: Carry | undefined, what: string): void {
    if (typeof carry === 'object' && carry !== null) assertOptionNames(carry, KINDS, `The carry option of ${what}`)
    for (const kind of QUESTION_KINDS) this.#assertMode(choose(carry, kind), what)
    for (const mode of this.#modesOf(carry)) this.#inUse.add(mode)
  }

  /** The mode of this question of an entry; undefined without a choice. */
  modeOf(request: InputRequest, own: Carry | undefined): CarryMode | undefined {
    return this.#resolve(kindOf(request), own)
  }

  /**
   * The mode of a round. Its questions share one state, so the mode that relies most on the store applies. A call of the stateless era never uses `process`.
   */
  modeOfRound(requests: Iterable<InputRequest>, own: Carry | undefined): Exclude<CarryMode, 'process'> {
    if (own === undefined && this.#carry === undefined) return 'client'
    const modes = Array.from(requests, (request) => this.modeOf(request, own) ?? 'client')
    if (modes.length === 0) modes.push(this.#resolve(NO_KIND, own) ?? 'client')
    const mode = MODES.find((each) => modes.includes(each)) ?? 'client'
    return mode === 'process' ? 'client' : mode
  }

  /** Whether a question of this entry may have this mode. */
  mayBe(mode: CarryMode, own: Carry | undefined): boolean {
    return this.#modesOf(own).includes(mode)
  }

  /** Whether any question may have this mode. */
  isInUse(mode: CarryMode): boolean {
    return this.#inUse.has(mode)
  }

  /** The holders of a pushed question's state. By default the client, and the store for clients that echo nothing. */
  carriersOf(mode: CarryMode | undefined, echoes: boolean): Carriers {
    const { client, store } = CARRIERS[mode ?? (echoes ? 'client' : 'store')]
    return { client: client && echoes, store: store && this.#hasStore }
  }

  /** Whether clients hold the state of some question. `echoes`: whether they echo states. */
  mayEcho(echoes: boolean): boolean {
    return [...this.#inUse].some((mode) => this.carriersOf(mode, echoes).client)
  }

  #resolve(kind: keyof CarryByKind | undefined, own: Carry | undefined): CarryMode | undefined {
    return choose(own, kind) ?? choose(this.#carry, kind)
  }

  #modesOf(own: Carry | undefined): (CarryMode | undefined)[] {
    return [...QUESTION_KINDS, NO_KIND].map((kind) => this.#resolve(kind, own))
  }

  #assertMode(mode: CarryMode | undefined, what: string): void {
    if (mode === undefined) return
    if (!MODES.includes(mode))
      throw new TypeError(`The carry option of ${what} is one of ${MODES.map((each) => `'${each}'`).join(', ')}.`)
    if (CARRIERS[mode].store && !this.#hasStore)
      throw new TypeError(`In ${what}, carry: '${mode}' needs a store, for example sqliteCarryStore({ path }).`)
  }
}

/** Logs the differences that `carry: 'both'` finds, and passes them on. */
export function differenceReporter(logger: () => Logger, onDifference: ((difference: Difference) => void) | undefined) {
  return (difference: Difference): void => {
    logger().warn(difference, 'The state of the client and the state in the store differ.')
    onDifference?.(difference)
  }
}

function choose(carry: Carry | undefined, kind: keyof CarryByKind | undefined): CarryMode | undefined {
  if (typeof carry !== 'object' || carry === null) return carry
  return kind && carry[kind]
}

function kindOf({ method, params }: InputRequest): keyof CarryByKind {
  switch (method) {
    case 'elicitation/create':
      return params.mode === 'url' ? 'url' : 'form'
    case 'sampling/createMessage':
      return 'sampling'
    case 'roots/list':
      return 'roots'
    default:
      return method satisfies never
  }
}
