/**
 * Calls of the stateless era that belong to another instance, because something waits for them there. The whole call goes
 * to that instance, and its answer comes back as a stream: notifications at once, then the response.
 *
 * - The stream begins before the call is answered, so its owner counts as gone by its silence, and not by slow work.
 * - A caller who leaves is told of to the owner. A stream that breaks off without that is no cancellation: the instance
 *   between them may have died, and its client may come again by another one.
 */
import { type HeaderReader, isObject, type Json, parseJson, type RequestId } from '../../protocol/index.ts'
import type { Principal } from '../auth/authenticator.ts'
import type { HttpReply, Sink } from '../http/exchange.ts'
import { refusal } from '../http/refusal.ts'
import type { Instance } from './instance.ts'
import { discard, type Delivery, isNobody, type Messenger } from './messenger.ts'
import type { Peers } from './peers.ts'

/** What an instance needs of a call to answer it for another. */
export interface ForwardableCall {
  readonly id: RequestId
  readonly method: string
  readonly params: Json
  /** Who calls, as the instance found that the client came to. */
  readonly principal: Principal | undefined
  /** The caller's session, where a client of the session era calls. */
  readonly session?: string
  /** Where an anonymous caller is: the owner counts what it uses by it. */
  readonly address?: string | undefined
  /** Of its headers only Authorization goes along, inside the seal: the owner may have to send it on for the caller. */
  readonly header?: HeaderReader | undefined
  readonly channel: {
    readonly address?: string | undefined
    notify(method: string, params: Json): void
    onCancel(listener: () => void): void
  }
}

export type ForwardedCall =
  /** `response` is the whole message. */
  | { readonly kind: 'answered'; readonly response: Json }
  /** `wasReached`: it began to answer. `wasSent`: it may have got the call. */
  | { readonly kind: 'gone'; readonly why: string; readonly wasReached: boolean; readonly wasSent: boolean }

/** A call as it arrives at its owner. */
export interface ArrivedCall {
  readonly message: Json
  readonly principal: Principal | undefined
  readonly session: string | undefined
  readonly address: string | undefined
  /** The Authorization header that the caller sent. */
  readonly authorization: string | undefined
  /** Calls the listener when the caller has left. */
  onCancel(listener: () => void): void
}

/** Answers by the sink, which it opens at once. */
export type ServeCall = (call: ArrivedCall, sink: Sink) => Promise<HttpReply | undefined>

/** An instance between a caller and the owner may be gone for so long until the caller comes by another one. */
const CALLER_BACK_WITHIN_MS = 10_000

export class CallForwarder {
  readonly #messenger: Messenger
  readonly #peers: Peers
  /** The calls of others that are answered here, by the name that the other instance gave them. */
  readonly #serving = new Map<string, () => void>()
  /** Answers calls that other instances forward. */
  serveCall: ServeCall = () => Promise.resolve(refusal(400, 'No calls are forwarded to this server.'))

  constructor(messenger: Messenger, peers: Peers) {
    this.#messenger = messenger
    this.#peers = peers
  }

  /** `isOnce`: the call must not run twice, because its owner does not know it again. */
  async forward(owner: Instance, call: ForwardableCall, { isOnce = false } = {}): Promise<ForwardedCall> {
    const { id, method, params, principal, session, channel } = call
    const name = crypto.randomUUID()
    const address = call.address ?? channel.address
    const caller = { principal, session, address, authorization: call.header?.('authorization') }
    const message = { kind: 'call', name, ...caller, message: { jsonrpc: '2.0', id, method, params } }
    const wasLost = this.#peers.isLost(owner.id)
    const delivery = await this.#messenger.send(owner, message, { wasLost, isOnce })
    if (delivery.kind === 'gone') return this.#gone(owner, delivery)
    this.#peers.meetAgain(owner)
    channel.onCancel(() => void this.#cancel(owner, name))
    return this.#answerOf(delivery.response, owner, channel)
  }

  /** Another instance forwards a call. */
  async serve(forwarded: Json, sink: Sink): Promise<HttpReply | undefined> {
    const { name, message, principal, session, address, authorization } = forwarded
    const listeners: (() => void)[] = []
    const leave = (): void => {
      for (const listener of listeners.splice(0)) listener()
    }
    this.#serving.set(String(name), leave)
    let late: ReturnType<typeof setTimeout> | undefined
    sink.onDisconnect(() => (late = setTimeout(leave, CALLER_BACK_WITHIN_MS)))
    try {
      return await this.serveCall(
        {
          message: message as Json,
          principal: principal as Principal | undefined,
          session: session as string | undefined,
          address: address as string | undefined,
          authorization: authorization as string | undefined,
          onCancel: (listener) => void listeners.push(listener),
        },
        sink,
      )
    } finally {
      clearTimeout(late)
      this.#serving.delete(String(name))
    }
  }

  /** Another instance says that the caller of a forwarded call has left. */
  cancelled(name: unknown): void {
    this.#serving.get(String(name))?.()
  }

  #gone(owner: Instance, { why, successor }: Delivery & { kind: 'gone' }): ForwardedCall {
    this.#peers.lose(owner, successor)
    return { kind: 'gone', why, wasReached: false, wasSent: successor === undefined && !isNobody(why) }
  }

  async #cancel(owner: Instance, name: string): Promise<void> {
    const delivery = await this.#messenger.send(owner, { kind: 'call-cancelled', name })
    if (delivery.kind === 'delivered') await discard(delivery.response)
  }

  async #answerOf(response: Response, owner: Instance, channel: ForwardableCall['channel']): Promise<ForwardedCall> {
    const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
    const forget = this.#peers.onLost(owner.id, () => void reader?.cancel().catch(() => {}))
    let why = 'it ended before it answered'
    const splitter = new EventSplitter()
    try {
      for (;;) {
        const chunk = await reader?.read()
        if (chunk?.value === undefined) break
        for (const event of splitter.take(chunk.value)) {
          const message = messageIn(event)
          if (message === undefined) continue
          if (typeof message['method'] !== 'string') return { kind: 'answered', response: message }
          channel.notify(message['method'], message['params'] as Json)
        }
      }
    } catch {
      why = 'its connection broke before it answered'
    } finally {
      forget()
      void reader?.cancel().catch(() => {})
    }
    void this.#peers.check(owner.id)
    return { kind: 'gone', why, wasReached: true, wasSent: true }
  }
}

/** Of another instance, so it is one of ours: a data line, or a comment that keeps the connection open. */
function messageIn(event: string): Json | undefined {
  const message: unknown = event.startsWith('data: ') ? parseJson(event.slice('data: '.length)) : undefined
  return isObject(message) ? message : undefined
}

const BREAK = '\n\n'

/** Finds events in the chunks of a stream. Each character is looked at once, however many chunks an event has. */
class EventSplitter {
  /** The beginning of an event that has not ended. */
  #parts: string[] = []
  #endsInBreak = false

  /** The events that this chunk ends. */
  take(chunk: string): readonly string[] {
    const events: string[] = []
    let start = 0
    if (this.#endsInBreak && chunk.startsWith('\n')) {
      events.push(this.#ended('').slice(0, -1))
      start = 1
    }
    for (let end = chunk.indexOf(BREAK, start); end >= 0; end = chunk.indexOf(BREAK, start)) {
      events.push(this.#ended(chunk.slice(start, end)))
      start = end + BREAK.length
    }
    if (start < chunk.length) this.#parts.push(chunk.slice(start))
    if (chunk !== '') this.#endsInBreak = start < chunk.length && chunk.endsWith('\n')
    return events
  }

  #ended(last: string): string {
    const event = [...this.#parts, last].join('')
    this.#parts = []
    return event
  }
}
