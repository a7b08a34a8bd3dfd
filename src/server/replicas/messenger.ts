/**
 * Messages between the instances of one server, posted to their own endpoints.
 *
 * Invariants:
 * - a message is sealed for exactly one instance: no other opens it, nor does the next process at the same address;
 * - it is opened once, and only for a short time;
 * - its receiver does what it says and never sends it on, so a message makes one hop at most.
 */
import { isObject, type Json } from '../../protocol/index.ts'
import { StateError } from '../../state/internal.ts'
import type { Sealer } from '../../state/seal/index.ts'
import { type Instance, readInstance, type Self, writeInstance } from './instance.ts'
import { SeenIds } from './seenIds.ts'

/** The media type of a message, by which an endpoint tells it from a request of a client. */
export const MESSAGE_TYPE = 'application/vnd.pannier.instance'
/**
 * On each reply to a message: who it comes from. Without it, something else answers at that address now. On a message: a
 * seal for its receiver, who reads the body only after that.
 */
export const INSTANCE_HEADER = 'pannier-instance'
/** On the reply to a message for another process: where others reach the one that is here. */
export const ADDRESS_HEADER = 'pannier-address'

// Clocks of two instances may differ by half a minute, and a message must still open.
const TTL_SECONDS = 40
const REPLY_WITHIN_MS = 2500
const MAX_ATTEMPTS = 2
/** What a sealer of messages must be able to seal, and the largest body that is read. */
export const MAX_MESSAGE_BYTES = 16 * 1024 * 1024
// The address is free, or leads nowhere: the process that had it is gone.
const NOBODY_THERE: ReadonlySet<string> = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENOTFOUND', 'EADDRNOTAVAIL'])

export interface MessengerOptions {
  readonly self: Self
  readonly sealer: Sealer
  readonly clock: () => number
  /** @default the global fetch */
  readonly fetch?: typeof fetch
  /** How long to wait for the head of a reply, in milliseconds. @default 2500 */
  readonly replyWithinMs?: number
}

/** `gone`: refused, or unanswered twice. */
export type Delivery =
  | { readonly kind: 'delivered'; readonly response: Response }
  | { readonly kind: 'gone'; readonly why: string; readonly successor?: Successor }

/** An instance that answers where another was. Nobody has proved that it is one of this server; a message for it will. */
export interface Successor {
  readonly id: string
  /** Where it says that others reach it. */
  readonly address?: string
}

export interface Received {
  readonly from: Instance
  readonly message: Json
}

type SendAttempt = Delivery | { readonly kind: 'silent'; readonly why: string; readonly successor?: Successor }

export class Messenger {
  readonly #options: MessengerOptions
  readonly #seen: SeenIds

  constructor(options: MessengerOptions) {
    this.#options = options
    this.#seen = new SeenIds(options.clock, 2 * TTL_SECONDS)
  }

  /**
   * Resolves with the head of the reply; its body may be a stream. Rejects when `signal` is aborted, and with a StateError
   * when the message cannot be sealed, which says nothing about its receiver.
   */
  async send(to: Instance, message: Json, signal?: AbortSignal): Promise<Delivery> {
    let last: SendAttempt = { kind: 'gone', why: 'it has no address' }
    if (to.url === undefined) return last
    for (let attempt = 1; attempt <= MAX_ATTEMPTS; attempt++) {
      last = await this.#try(to.url, to.id, message, signal)
      if (last.kind !== 'silent') return last
    }
    return { ...last, kind: 'gone' }
  }

  /** Whether a message with this in its header comes from an instance, for this one. */
  admits(pass: string | undefined): boolean {
    const { self, sealer } = this.#options
    try {
      return pass !== undefined && sealer.open('instance', { name: self.id }, pass).body === null
    } catch (error) {
      if (error instanceof StateError) return false
      throw error
    }
  }

  /** Opens what another instance sent. Throws a StateError when it is not for this one, too old, or was here before. */
  open(token: string): Received {
    const { self, sealer } = this.#options
    const { id, body } = sealer.open('instance', { name: self.id }, token)
    if (!this.#seen.add(id)) throw new StateError('STATE_REPLAYED', 'This message of an instance was here before.')
    const [entry, message] = Array.isArray(body) ? (body as readonly unknown[]) : []
    const from = readInstance(entry)
    if (from !== undefined && isObject(message)) return { from, message }
    throw new StateError('STATE_MALFORMED', 'The message is of a version that this instance cannot read.')
  }

  async #try(url: string, id: string, message: Json, signal: AbortSignal | undefined): Promise<SendAttempt> {
    const { fetch: post = fetch, replyWithinMs = REPLY_WITHIN_MS } = this.#options
    const pass = this.#seal(id, null)
    const body = this.#seal(id, [writeInstance(this.#options.self), message])
    const patience = new AbortController()
    const stop = (): void => patience.abort(signal?.reason)
    const timer = setTimeout(() => patience.abort(), replyWithinMs)
    signal?.addEventListener('abort', stop, { once: true })
    try {
      signal?.throwIfAborted()
      const response = await post(url, {
        method: 'POST',
        headers: { 'content-type': MESSAGE_TYPE, [INSTANCE_HEADER]: pass },
        body,
        redirect: 'manual',
        signal: patience.signal,
      })
      if (response.headers.get(INSTANCE_HEADER) === id) return { kind: 'delivered', response }
      await discard(response)
      const why = `HTTP ${response.status} from something else at its address`
      return { kind: response.status >= 500 ? 'silent' : 'gone', why, ...successorIn(response) }
    } catch (error) {
      signal?.throwIfAborted()
      const why = patience.signal.aborted ? 'no reply in time' : reasonOf(error)
      return { kind: NOBODY_THERE.has(why) ? 'gone' : 'silent', why }
    } finally {
      clearTimeout(timer)
      signal?.removeEventListener('abort', stop)
    }
  }

  /** Each attempt has an id of its own: an answer to the first may only have been lost. */
  #seal(to: string, body: unknown): string {
    const id = crypto.randomUUID()
    return this.#options.sealer.seal('instance', { name: to }, { id, ttlSeconds: TTL_SECONDS, body })
  }
}

/** Lets go of a reply that nobody reads. It may have broken off meanwhile. */
export async function discard(response: Response): Promise<void> {
  await response.body?.cancel().catch(() => {})
}

function successorIn({ headers }: Response): { successor?: Successor } {
  const id = headers.get(INSTANCE_HEADER)
  const address = headers.get(ADDRESS_HEADER) ?? ''
  if (id === null || !/^[\w-]{1,64}$/.test(id)) return {}
  return { successor: { id, ...(URL.canParse(address) && { address }) } }
}

/** The code, or what fetch says itself, such as "bad port" for one that it does not connect to. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause as { code?: unknown; message?: unknown } | undefined) : undefined
  return [cause?.code, cause?.message].find((reason) => typeof reason === 'string') ?? 'unknown'
}
