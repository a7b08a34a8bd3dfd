/**
 * Messages between the instances of one server, posted to their own endpoints.
 *
 * Invariants:
 * - a message is sealed for exactly one instance: no other opens it, nor does the next process at the same address;
 * - it is opened once, and only for a short time;
 * - it counts as delivered only where the reply holds its id, which stands inside the seal: whoever else answers at an
 *   address cannot know it;
 * - who has no key of this server learns nothing of the instance that refuses a message;
 * - its receiver does what it says and never sends it on, so a message makes one hop at most.
 */
import type { IncomingMessage } from 'node:http'
import { isObject, type Json } from '../../protocol/index.ts'
import { StateError } from '../../state/internal.ts'
import type { Binding, Sealed, Sealer } from '../../state/seal/index.ts'
import { type Instance, readInstance, type Self, writeInstance } from './instance.ts'
import { SeenIds } from './seenIds.ts'

/** The media type of a message, by which an endpoint tells it from a request of a client. */
export const MESSAGE_TYPE = 'application/vnd.pannier.instance'
/**
 * On a message: a seal that says whom it is for, who reads the body only after that. On a reply: the id of the message
 * that was opened, or a seal that says who is here instead.
 */
export const INSTANCE_HEADER = 'pannier-instance'
/** To a message that is not for this instance. Not 421: after that `fetch` sends the same message once more. */
export const REFUSED_STATUS = 409

// Clocks of two instances may differ by half a minute, and a message must still open.
const TTL_SECONDS = 40
const REPLY_WITHIN_MS = 2500
const MAX_ATTEMPTS = 2
// One that was silent twice, and is there again, answers soon.
const LOST_REPLY_WITHIN_MS = 500
/** What a sealer of messages must be able to seal, and the largest body that is read. */
export const MAX_MESSAGE_BYTES = 16 * 1024 * 1024
// The address is free, or leads nowhere: the process that had it is gone.
const NOBODY_THERE: ReadonlySet<string> = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENOTFOUND', 'EADDRNOTAVAIL'])

/** Whether a request is a message of an instance, by its headers. */
export function isInstanceMessage({ method, headers }: IncomingMessage): boolean {
  return method === 'POST' && headers['content-type'] === MESSAGE_TYPE
}

/** Whether a process that is gone is the reason why a message did not arrive: no other has its address. */
export function isNobody(why: string): boolean {
  return why === 'ECONNREFUSED'
}

/** Why a message did not arrive where an instance is that cannot open it: it has other keys, or is of another server. */
export const UNOPENED = 'an instance is there that cannot open it'

export interface MessengerOptions {
  readonly self: Self
  readonly sealer: Sealer
  readonly clock: () => number
  /** @default the global fetch */
  readonly fetch?: typeof fetch
  /** How long to wait for the head of a reply, in milliseconds. @default 2500 */
  readonly replyWithinMs?: number
}

/** `gone`: refused, or unanswered. `successor`: the instance of this server that answers there instead. */
export type Delivery =
  | { readonly kind: 'delivered'; readonly response: Response }
  | { readonly kind: 'gone'; readonly why: string; readonly successor?: Instance }

export interface DeliveryOptions {
  /** The receiver was found to be gone a moment ago: it is not waited for long. @default false */
  readonly wasLost?: boolean
  /** What it says must not be done twice: it is sent once, with as much patience. @default false */
  readonly isOnce?: boolean
}

export interface Received {
  /** In the reply it proves that the message was opened. */
  readonly id: string
  readonly from: Instance
  readonly message: Json
}

type SendAttempt = Delivery | { readonly kind: 'silent'; readonly why: string; readonly successor?: Instance }

export class Messenger {
  readonly #options: MessengerOptions
  readonly #seen: SeenIds

  constructor(options: MessengerOptions) {
    this.#options = options
    this.#seen = new SeenIds(options.clock, 2 * TTL_SECONDS)
  }

  /**
   * Resolves with the head of the reply; its body may be a stream. Rejects with a StateError when the message cannot be
   * sealed, which says nothing about its receiver.
   */
  async send(to: Instance, message: Json, options: DeliveryOptions = {}): Promise<Delivery> {
    const { wasLost = false, isOnce = false } = options
    const { replyWithinMs = REPLY_WITHIN_MS } = this.#options
    const withinMs = wasLost ? Math.min(replyWithinMs, LOST_REPLY_WITHIN_MS) : replyWithinMs
    let last: SendAttempt = { kind: 'gone', why: 'it has no address' }
    if (to.url === undefined) return last
    const attempts = isOnce ? 1 : MAX_ATTEMPTS
    for (let attempt = 1; attempt <= attempts; attempt++) {
      last = await this.#try(to.url, to.id, message, (withinMs * MAX_ATTEMPTS) / attempts)
      if (last.kind !== 'silent') return last
    }
    return { ...last, kind: 'gone' }
  }

  /**
   * The headers with which a message is refused by its header alone; undefined where it comes from an instance, for this
   * one. They tell another instance of this server who is here, and anybody else nothing.
   */
  refusalOf(pass: string | undefined): Readonly<Record<string, string>> | undefined {
    const { self } = this.#options
    const opened = pass === undefined ? undefined : this.#openedOrNone({ method: 'pass' }, pass)
    if (opened === undefined) return {}
    if (opened.body === self.id) return undefined
    return { [INSTANCE_HEADER]: this.#seal({ method: 'here', name: opened.id }, newId(), writeInstance(self)) }
  }

  /** Opens what another instance sent. Throws a StateError when it is not for this one, too old, or was here before. */
  open(token: string): Received {
    const { self, sealer } = this.#options
    const { id, body } = sealer.open('instance', { method: 'message', name: self.id }, token)
    if (!this.#seen.add(id)) throw new StateError('STATE_REPLAYED', 'This message of an instance was here before.')
    const [entry, message] = Array.isArray(body) ? (body as readonly unknown[]) : []
    const from = readInstance(entry)
    if (from !== undefined && isObject(message)) return { id, from, message }
    throw new StateError('STATE_MALFORMED', 'The message is of a version that this instance cannot read.')
  }

  /** Each attempt has ids of its own: an answer to the first may only have been lost. */
  async #try(url: string, to: string, message: Json, withinMs: number): Promise<SendAttempt> {
    const { fetch: post = fetch, self } = this.#options
    const [passId, messageId] = [newId(), newId()]
    const pass = this.#seal({ method: 'pass' }, passId, to)
    const body = this.#seal({ method: 'message', name: to }, messageId, [writeInstance(self), message])
    const patience = new AbortController()
    const timer = setTimeout(() => patience.abort(), withinMs)
    try {
      const response = await post(url, {
        method: 'POST',
        headers: { 'content-type': MESSAGE_TYPE, [INSTANCE_HEADER]: pass },
        body,
        redirect: 'manual',
        signal: patience.signal,
      })
      const proof = response.headers.get(INSTANCE_HEADER)
      if (proof === messageId) return { kind: 'delivered', response }
      await discard(response)
      const { status } = response
      const isUnopened = status === REFUSED_STATUS && proof === null
      const why = isUnopened ? UNOPENED : `HTTP ${status} from something else at its address`
      return { kind: status >= 500 ? 'silent' : 'gone', why, ...this.#successorIn(proof, passId, url) }
    } catch (error) {
      const why = patience.signal.aborted ? 'no reply in time' : reasonOf(error)
      return { kind: NOBODY_THERE.has(why) ? 'gone' : 'silent', why }
    } finally {
      clearTimeout(timer)
    }
  }

  /** Who is here instead. The address is its own, and where it was found only if it has none. */
  #successorIn(sealed: string | null, passId: string, url: string): { successor?: Instance } {
    const opened = sealed === null ? undefined : this.#openedOrNone({ method: 'here', name: passId }, sealed)
    const successor = readInstance(opened?.body)
    return successor === undefined ? {} : { successor: { id: successor.id, url: successor.url ?? url } }
  }

  #seal(binding: Binding, id: string, body: unknown): string {
    return this.#options.sealer.seal('instance', binding, { id, ttlSeconds: TTL_SECONDS, body })
  }

  #openedOrNone(binding: Binding, token: string): Sealed | undefined {
    try {
      return this.#options.sealer.open('instance', binding, token)
    } catch (error) {
      if (error instanceof StateError) return undefined
      throw error
    }
  }
}

/** Lets go of a reply that nobody reads. It may have broken off meanwhile. */
export async function discard(response: Response): Promise<void> {
  await response.body?.cancel().catch(() => {})
}

function newId(): string {
  return crypto.randomUUID()
}

/** The code, or what fetch says itself, such as "bad port" for one that it does not connect to. */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause as { code?: unknown; message?: unknown } | undefined) : undefined
  return [cause?.code, cause?.message].find((reason) => typeof reason === 'string') ?? 'unknown'
}
