/**
 * Messages between the instances of one server, posted to their endpoints.
 *
 * Invariants:
 * - a message is sealed for exactly one instance: no other opens it, nor does the next process at the same address;
 * - it is opened once, and only for a short time;
 * - it counts as delivered only if the reply holds its id, which is inside the seal, so another process at the address
 *   cannot know it;
 * - a process without a key of this server learns nothing about the instance that refuses a message;
 * - its receiver handles it and never forwards it, so a message makes at most one hop.
 */
import type { IncomingMessage } from 'node:http'
import { isObject, type Json } from '../protocol/index.ts'
import { StateError, unlessRefused } from '../state/internal.ts'
import type { Binding, Sealed, Sealer } from '../state/seal/index.ts'
import { ExpiringMap } from '../state/stores/index.ts'
import { type Instance, readInstance, type Self, writeInstance } from './instance.ts'
import { LOST_REPLY_WITHIN_MS, MAX_ATTEMPTS, MESSAGE_TTL_SECONDS, REPLY_WITHIN_MS } from './times.ts'

/** The media type that distinguishes a message from a client's request. */
export const MESSAGE_TYPE = 'application/vnd.pannier.instance'
/**
 * On a message: a sealed receiver id, checked before the body is read. On a reply: the id of the opened message, or the
 * sealed name of the instance that is here instead.
 */
export const INSTANCE_HEADER = 'pannier-instance'
/** The status for a message to another instance. Not 421, after which `fetch` would repeat the message. */
export const REFUSED_STATUS = 409

/** The largest message that a sealer must seal, and the largest body that is read. */
export const MAX_MESSAGE_BYTES = 16 * 1024 * 1024
// Errors after which a second attempt is useless. Only a refused connection proves that no process has the address.
const NO_ROUTE: ReadonlySet<string> = new Set(['ECONNREFUSED', 'EHOSTUNREACH', 'ENOTFOUND', 'EADDRNOTAVAIL'])

/** Whether a request is a message of an instance, by its headers. */
export function isInstanceMessage({ method, headers }: IncomingMessage): boolean {
  return method === 'POST' && headers['content-type'] === MESSAGE_TYPE
}

/**
 * The reason when the instance at an address cannot open a message: it has other keys, or belongs to another server.
 */
export const UNOPENED = 'an instance is there that cannot open it'

export interface MessengerOptions {
  readonly self: Self
  readonly sealer: Sealer
  readonly clock: () => number
  /** @default the global fetch */
  readonly fetch?: typeof fetch
  /** Timeout for the head of a reply, in milliseconds. @default 2500 */
  readonly replyWithinMs?: number
}

export type Delivery =
  | { readonly kind: 'delivered'; readonly response: Response }
  /** The instance did not get it. `successor`: the instance of this server that answered at its address. */
  | { readonly kind: 'gone'; readonly why: string; readonly successor?: Instance }
  /** The instance cannot be reached or does not answer: it may be alive, and may have received the message. */
  | { readonly kind: 'silent'; readonly why: string }

export interface DeliveryOptions {
  /** Whether the receiver was gone a moment ago, so that the timeout is short. @default false */
  readonly wasLost?: boolean
  /**
   * Whether the message must not be handled twice: it is sent once, with the timeout of all attempts together. @default
   * false
   */
  readonly isOnce?: boolean
}

export interface Received {
  /** Proves in the reply that the message was opened. */
  readonly id: string
  readonly from: Instance
  readonly message: Json
}

/** For a search: a balancer that chooses an instance for each connection would always give the same one. */
const FRESH = { connection: 'close' }

type SendAttempt = { readonly isFinal: boolean; readonly delivery: Delivery }

export class Messenger {
  readonly #options: MessengerOptions
  /** Replay protection: the ids of messages that were opened, for longer than a message lives. */
  readonly #seen: ExpiringMap<true>

  constructor(options: MessengerOptions) {
    this.#options = options
    this.#seen = new ExpiringMap(options.clock)
  }

  /**
   * Resolves with the head of the reply; its body may be a stream. Rejects with a StateError when the message cannot be
   * sealed, which does not depend on the receiver.
   */
  async send(to: Instance, message: Json, options: DeliveryOptions = {}): Promise<Delivery> {
    const { wasLost = false, isOnce = false } = options
    const { replyWithinMs = REPLY_WITHIN_MS } = this.#options
    const withinMs = wasLost ? Math.min(replyWithinMs, LOST_REPLY_WITHIN_MS) : replyWithinMs
    let delivery: Delivery = { kind: 'silent', why: 'it has no address' }
    if (to.url === undefined) return delivery
    const attempts = isOnce ? 1 : MAX_ATTEMPTS
    for (let attempt = 1; attempt <= attempts; attempt++) {
      const tried = await this.#try(to.url, to.id, message, (withinMs * MAX_ATTEMPTS) / attempts)
      delivery = tried.delivery
      if (tried.isFinal) break
    }
    return delivery
  }

  /**
   * The headers of a refusal, by the message's header alone; undefined if the message comes from an instance and is for
   * this one. They name this instance to other instances of this server, and nothing to anyone else.
   */
  refusalOf(pass: string | undefined): Readonly<Record<string, string>> | undefined {
    const { self } = this.#options
    const opened = pass === undefined ? undefined : this.#openedOrNone({ method: 'pass' }, pass)
    if (opened === undefined) return {}
    if (opened.body === self.id) return undefined
    return { [INSTANCE_HEADER]: this.#seal({ method: 'here', name: opened.id }, newId(), writeInstance(self)) }
  }

  /**
   * Opens a message of another instance. Throws a StateError if the message is for another instance, too old, or
   * replayed.
   */
  open(token: string): Received {
    const { self, sealer, clock } = this.#options
    const { id, body } = sealer.open('instance', { method: 'message', name: self.id }, token)
    if (this.#seen.get(id)) throw new StateError('STATE_REPLAYED', 'This message of an instance was here before.')
    this.#seen.set(id, true, clock() + 2 * MESSAGE_TTL_SECONDS * 1000)
    const [entry, message] = Array.isArray(body) ? (body as readonly unknown[]) : []
    const from = readInstance(entry)
    if (from !== undefined && isObject(message)) return { id, from, message }
    throw new StateError('STATE_MALFORMED', 'The message is of a version that this instance cannot read.')
  }

  /** Sends under new ids, because only the reply to an earlier attempt may have been lost. */
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
        headers: { 'content-type': MESSAGE_TYPE, [INSTANCE_HEADER]: pass, ...(to === '' && FRESH) },
        body,
        redirect: 'manual',
        signal: patience.signal,
      })
      const proof = response.headers.get(INSTANCE_HEADER)
      if (proof === messageId) return { isFinal: true, delivery: { kind: 'delivered', response } }
      await discard(response)
      const { status } = response
      const isUnopened = status === REFUSED_STATUS && proof === null
      const why = isUnopened ? UNOPENED : `HTTP ${status} from something else at its address`
      const successor = this.#successorIn(proof, passId, url)
      const delivery: Delivery = successor ? { kind: 'gone', why, successor } : { kind: 'silent', why }
      return { isFinal: status < 500, delivery }
    } catch (error) {
      const why = patience.signal.aborted ? 'no reply in time' : reasonOf(error)
      return { isFinal: NO_ROUTE.has(why), delivery: { kind: why === 'ECONNREFUSED' ? 'gone' : 'silent', why } }
    } finally {
      clearTimeout(timer)
    }
  }

  /** The instance that answered instead, at its own address, or else at the one where it was found. */
  #successorIn(sealed: string | null, passId: string, url: string): Instance | undefined {
    const opened = sealed === null ? undefined : this.#openedOrNone({ method: 'here', name: passId }, sealed)
    const successor = readInstance(opened?.body)
    return successor && { id: successor.id, url: successor.url ?? url }
  }

  #seal(binding: Binding, id: string, body: unknown): string {
    return this.#options.sealer.seal('instance', binding, { id, ttlSeconds: MESSAGE_TTL_SECONDS, body })
  }

  #openedOrNone(binding: Binding, token: string): Sealed | undefined {
    return unlessRefused(() => this.#options.sealer.open('instance', binding, token))
  }
}

/** Discards the body of a reply, even one that breaks off. */
export async function discard(response: Response): Promise<void> {
  await response.body?.cancel().catch(() => {})
}

function newId(): string {
  return crypto.randomUUID()
}

/** The error code, or the message of `fetch`, such as "bad port". */
function reasonOf(error: unknown): string {
  const cause = error instanceof Error ? (error.cause as { code?: unknown; message?: unknown } | undefined) : undefined
  return [cause?.code, cause?.message].find((reason) => typeof reason === 'string') ?? 'unknown'
}
