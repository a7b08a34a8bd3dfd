/**
 * Stateless-era calls that belong to another instance. The whole call is forwarded to it, and its answer comes back as a
 * stream: notifications at once, then the response.
 *
 * - The stream begins before the call is answered, so its owner counts as gone by its silence, and not by slow work.
 * - A cancellation is forwarded to the owner. A stream that breaks off is no cancellation: the instance between them may have
 *   died, and its client may come back by another one.
 */
import { openTelemetry } from '#lazy/server/telemetry/openTelemetry'
import { discard, type Instance, ReplyStream, type ClusterScope } from '../../cluster/index.ts'
import type { HeaderReader, Json, RequestId } from '../../protocol/index.ts'
import type { Principal } from '../auth/authenticator.ts'
import type { HttpReply, Sink } from '../http/exchange.ts'

/** The facts about a call that another instance needs to answer it. */
export interface ForwardableCall {
  readonly id: RequestId
  readonly method: string
  readonly params: Json
  /** The principal, as the client's instance authenticated it. */
  readonly principal: Principal | undefined
  /** The caller's session, for a session-era client. */
  readonly session?: string
  /** The address of an anonymous caller, by which the owner counts quotas. */
  readonly address?: string | undefined
  /** Only Authorization is forwarded, inside the seal: the owner may have to send it for the caller. */
  readonly header?: HeaderReader | undefined
  readonly approved?: string | undefined
  readonly channel: {
    readonly address?: string | undefined
    notify(method: string, params: Json): void
    onCancel(listener: () => void): void
  }
}

export type ForwardedCall =
  /** `response` is the whole message. */
  | { readonly kind: 'answered'; readonly response: Json }
  /** The owner began to answer, and ended. */
  | { readonly kind: 'broken'; readonly why: string }
  /** The owner is gone, and did not get the call. */
  | { readonly kind: 'gone'; readonly why: string }
  /** The owner does not answer, and may have got the call. */
  | { readonly kind: 'silent'; readonly why: string }

/** A call as it arrives at its owner. */
export interface ArrivedCall {
  /** The instance that forwards it. */
  readonly from: Instance
  readonly message: Json
  readonly principal: Principal | undefined
  readonly session: string | undefined
  readonly address: string | undefined
  /** The Authorization header that the caller sent. */
  readonly authorization: string | undefined
  readonly approved: string | undefined
  /** Calls the listener when the caller has left. */
  onCancel(listener: () => void): void
}

/** Answers by the sink, which it opens at once. */
export type ServeCall = (call: ArrivedCall, sink: Sink) => Promise<HttpReply | undefined>

/** The client of a call has cancelled it, or has lost its connection and may come back. */
export type ClientEvent = 'cancelled' | 'disconnected'

/** The time in which a client may come back by another instance, when the one between it and the owner has died. */
const CALLER_BACK_WITHIN_MS = 10_000

export class ForwardedCalls {
  readonly #scope: ClusterScope
  /** The listeners of calls for other instances, by the names of the calls. */
  readonly #listeners = new Map<string, (event: ClientEvent) => void>()

  constructor(scope: ClusterScope) {
    this.#scope = scope
    for (const event of ['cancelled', 'disconnected'] as const)
      scope.handle(`call-${event}`, async ({ name }) => {
        this.deliver(event, name)
        return { status: 202 }
      })
  }

  /** Answers calls that other instances forward. */
  serveBy(serve: ServeCall): void {
    this.#scope.handle('call', (message, from, sink) => this.serve(serve, from, message, sink))
  }

  /** `isOnce`: the call must not run twice, because its owner does not recognize it. */
  async forward(owner: Instance, call: ForwardableCall, { isOnce = false } = {}): Promise<ForwardedCall> {
    const { id, method, principal, session, channel, approved } = call
    const params = withActiveTrace(call.params)
    const name = crypto.randomUUID()
    const address = call.address ?? channel.address
    const caller = { principal, session, address, authorization: call.header?.('authorization'), approved }
    const message = { kind: 'call', name, ...caller, message: { jsonrpc: '2.0', id, method, params } }
    const forwarded = await this.#scope.forward(owner, message, { isOnce })
    if (forwarded.kind === 'moved') return { kind: 'gone', why: 'it has moved' }
    if (forwarded.kind !== 'answered') return forwarded
    channel.onCancel(() => void this.report('cancelled', owner, name))
    return this.#answerOf(forwarded.response, owner, channel)
  }

  /** Another instance forwards a call. */
  async serve(serve: ServeCall, from: Instance, forwarded: Json, sink: Sink): Promise<HttpReply | undefined> {
    const { name, message, principal, session, address, authorization, approved } = forwarded
    const listeners: (() => void)[] = []
    const leave = (): void => {
      for (const listener of listeners.splice(0)) listener()
    }
    const forget = this.onEvent(String(name), (event) => {
      if (event === 'cancelled') leave()
    })
    let late: ReturnType<typeof setTimeout> | undefined
    sink.onDisconnect(() => (late = setTimeout(leave, CALLER_BACK_WITHIN_MS)))
    try {
      return await serve(
        {
          from,
          message: message as Json,
          principal: principal as Principal | undefined,
          session: session as string | undefined,
          address: address as string | undefined,
          authorization: authorization as string | undefined,
          approved: approved as string | undefined,
          onCancel: (listener) => void listeners.push(listener),
        },
        sink,
      )
    } finally {
      clearTimeout(late)
      forget()
    }
  }

  /** Calls the listener with events of the client of the call with this name. Returns the function that ends this. */
  onEvent(name: string, listener: (event: ClientEvent) => void): () => void {
    this.#listeners.set(name, listener)
    return () => void this.#listeners.delete(name)
  }

  /** Delivers an event to the call with this name. */
  deliver(event: ClientEvent, name: unknown): void {
    this.#listeners.get(String(name))?.(event)
  }

  /** Forwards an event to the owner of the call. */
  async report(event: ClientEvent, owner: Instance, name: string): Promise<void> {
    const forwarded = await this.#scope.forward(owner, { kind: `call-${event}`, name })
    if (forwarded.kind === 'answered') await discard(forwarded.response)
  }

  async #answerOf(response: Response, owner: Instance, channel: ForwardableCall['channel']): Promise<ForwardedCall> {
    const reader = new ReplyStream(response)
    const forget = this.#scope.members.onLost(owner.id, () => reader.cancel())
    let why = 'it ended before it answered'
    try {
      for await (const message of reader.messages()) {
        if (typeof message['method'] !== 'string') return { kind: 'answered', response: message }
        channel.notify(message['method'], message['params'] as Json)
      }
    } catch {
      why = 'its connection broke before it answered'
    } finally {
      forget()
      reader.cancel()
    }
    void this.#scope.members.check(owner.id)
    return { kind: 'broken', why }
  }
}

/** The spans of the owner belong to the active trace, where an SDK of OpenTelemetry is registered. */
function withActiveTrace(params: Json): Json {
  const api = openTelemetry()
  if (api === undefined) return params
  const fields: Json = {}
  api.propagation.inject(api.context.active(), fields)
  return Object.keys(fields).length === 0 ? params : { ...params, _meta: { ...(params['_meta'] as Json), ...fields } }
}
