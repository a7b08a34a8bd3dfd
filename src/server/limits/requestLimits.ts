/** Limits of one caller: requests per minute, and concurrent calls. */
import { assertOptionNames, type HeaderReader, type OptionNames, setNewest } from '../../protocol/index.ts'
import { Quota } from '../../state/quota/index.ts'
import { memoryRates, type RateStore } from '../../state/stores/index.ts'
import type { Principal } from '../auth/authenticator.ts'
import type { Call } from '../call.ts'
import { LimitError } from '../errors.ts'
import { networkOf } from './quotaCaller.ts'

export interface LimitOptions {
  /** Maximum number of requests of one caller within a minute. @default no limit */
  requestsPerMinute?: number
  /** Maximum number of concurrent calls of one caller at each instance. @default no limit */
  callsAtOnce?: number
  /** Where calls under way are counted. @default the memory of this process */
  calls?: CallCounter
  /** Where requests are counted; `postgresRates` counts for all instances. @default the memory of this process */
  store?: RateStore
  /** The address of an anonymous caller, from a proxy's header. @default the address of the connection, if known */
  clientAddress?: (request: { readonly header: HeaderReader }) => string | undefined
}

/** Counts the calls of each caller that are under way. */
export interface CallCounter {
  /** Counts one more call of a caller, unless that exceeds the limit. Gives whether it was counted. */
  begin(caller: string, limit: number): boolean | Promise<boolean>
  end(caller: string): void
}

const LIMIT_OPTIONS: OptionNames<LimitOptions> = {
  requestsPerMinute: true,
  callsAtOnce: true,
  calls: true,
  store: true,
  clientAddress: true,
}

// Maximum number of refused callers that are remembered. Others are refused after their body was read.
const MAX_WAITING = 10_000

/** The methods that run a handler. */
const CALLS: ReadonlySet<string> = new Set(['tools/call', 'prompts/get', 'resources/read', 'completion/complete'])

/** The limits that can change. */
export type RequestAmounts = Pick<LimitOptions, 'requestsPerMinute' | 'callsAtOnce'>

/** Undefined if there are no limits. `mayChange`: limits may be set later. */
export function requestLimits(options: LimitOptions | undefined, mayChange: boolean): RequestLimits | undefined {
  if (options === undefined) return undefined
  assertOptionNames(options, LIMIT_OPTIONS, 'The option limits')
  const { requestsPerMinute, callsAtOnce, clientAddress } = options
  if (requestsPerMinute === undefined && callsAtOnce === undefined && clientAddress === undefined && !mayChange)
    throw new TypeError('The option limits needs requestsPerMinute, callsAtOnce or clientAddress.')
  for (const [name, value] of Object.entries({ requestsPerMinute, callsAtOnce })) {
    if (value !== undefined && !(Number.isSafeInteger(value) && value > 0))
      throw new TypeError(`The option ${name} is a whole number, at least 1.`)
  }
  const limits = new RequestLimits(options)
  return limits.areSet || mayChange ? limits : undefined
}

export class RequestLimits {
  #amounts: RequestAmounts
  readonly #store: RateStore
  readonly #calls: CallCounter
  /** When refused callers may try again, in milliseconds since 1970. */
  readonly #waiting = new Map<string, number>()

  constructor(options: LimitOptions) {
    this.#amounts = options
    this.#store = options.store ?? memoryRates()
    this.#calls = options.calls ?? new MemoryCalls()
  }

  /** Applies other limits. Calls that began without a limit of calls are not counted. */
  set(amounts: RequestAmounts): void {
    this.#amounts = amounts
    this.#waiting.clear()
  }

  get areSet(): boolean {
    return this.#amounts.requestsPerMinute !== undefined || this.countsCalls
  }

  /** Counts a request, and gives the function that ends it. Rejects with LimitError when it is too much. */
  async enter(call: Call): Promise<() => void> {
    if (call.resumed !== undefined) return done // another instance has counted it
    const { principal, peer, channel } = call
    const caller = callerOf(principal, peer.session, channel.address)
    await this.#count(caller)
    return CALLS.has(call.method) ? this.#begin(caller) : done
  }

  /** The same for a request that is passed on unread, which counts as a call. */
  async enterUnread(principal: Principal | undefined, address: string | undefined): Promise<() => void> {
    const caller = callerOf(principal, undefined, address)
    await this.#count(caller)
    return this.#begin(caller)
  }

  /** Counts a request for the page of a question, which names no caller, or for a list of questions. */
  async enterPage(address: string | undefined, principal?: Principal): Promise<void> {
    await this.#count(callerOf(principal, undefined, address))
  }

  /** Whether it matters which requests are calls. */
  get countsCalls(): boolean {
    return this.#amounts.callsAtOnce !== undefined
  }

  /**
   * Refuses, before the body is read, a caller who did not wait as asked. In a session the body may be an answer, which is
   * not counted.
   */
  refusalOf(
    header: HeaderReader,
    principal: Principal | undefined,
    address: string | undefined,
  ): LimitError | undefined {
    if (this.#waiting.size === 0 || header('mcp-session-id') !== undefined) return undefined
    const caller = callerOf(principal, undefined, address)
    const waitMs = (this.#waiting.get(caller) ?? 0) - Date.now()
    if (waitMs > 0) return this.#tooMany(waitMs)
    this.#waiting.delete(caller)
    return undefined
  }

  async #count(caller: string): Promise<void> {
    const { requestsPerMinute } = this.#amounts
    if (requestsPerMinute === undefined) return
    const waitMs = await this.#store.count(caller, requestsPerMinute)
    if (waitMs <= 0) return
    setNewest(this.#waiting, caller, Date.now() + waitMs, MAX_WAITING)
    throw this.#tooMany(waitMs)
  }

  #tooMany(waitMs: number): LimitError {
    const seconds = Math.ceil(waitMs / 1000)
    const sentence = `Too many requests: at most ${this.#amounts.requestsPerMinute} per minute. Try again in ${seconds} s.`
    return new LimitError('LIMIT_REQUESTS', sentence, seconds)
  }

  async #begin(caller: string): Promise<() => void> {
    const { callsAtOnce } = this.#amounts
    if (callsAtOnce === undefined) return done
    if (await this.#calls.begin(caller, callsAtOnce)) return () => this.#calls.end(caller)
    const sentence = `Too many calls at once: at most ${callsAtOnce}. Try again when one of them has ended.`
    throw new LimitError('LIMIT_CALLS', sentence, 1)
  }
}

/** The principal; for anonymous callers the network, else the session, else one name for all. */
function callerOf(principal: Principal | undefined, session: string | undefined, address: string | undefined): string {
  if (principal !== undefined) return `principal ${principal.id}`
  if (address !== undefined) return `network ${networkOf(address)}`
  return session === undefined ? 'anonymous' : `session ${session}`
}

/** Counts in the memory of this process. */
export class MemoryCalls implements CallCounter {
  readonly #quota = new Quota()

  begin(caller: string, limit: number): boolean {
    if (this.#quota.of(caller).places >= limit) return false
    this.#quota.take(caller)
    return true
  }

  end(caller: string): void {
    this.#quota.release(caller)
  }
}

function done(): void {}
