/**
 * Requests of session-era clients that belong to another instance: they go there, and its reply goes back to the
 * client.
 */
import type { HeaderReader, Json } from '../../protocol/index.ts'
import type { Principal } from '../auth/authenticator.ts'
import type { HttpReply, Sink } from '../http/exchange.ts'
import { refusal } from '../http/refusal.ts'
import { SSE_HEADERS } from '../http/sse.ts'
import { type Instance, readInstance, writeInstance } from './instance.ts'
import { discard, type Messenger, REFUSED_STATUS } from './messenger.ts'
import type { Peers } from './peers.ts'

/** What an instance needs of a request to serve it for another. */
export interface ClientRequest {
  readonly method: 'GET' | 'POST'
  readonly header: HeaderReader
  /** Who calls, as the instance found that the client came to. */
  readonly principal: Principal | undefined
  /** The message of a POST. */
  readonly body?: Json
  /** The instances that were found to be gone. */
  readonly gone: ReadonlySet<string>
}

/** A reply of undefined went by the sink. */
export type Forwarded =
  | { readonly kind: 'replied'; readonly reply: HttpReply | undefined }
  /** What was asked for goes on at that instance. */
  | { readonly kind: 'moved'; readonly to: Instance }
  | { readonly kind: 'gone'; readonly why: string }

const MOVED_HEADER = 'pannier-moved'

/** To another instance: what it asks for is not here any more, but there. */
export function movedReply(to: Instance): HttpReply {
  return { status: REFUSED_STATUS, headers: { [MOVED_HEADER]: JSON.stringify(writeInstance(to)) } }
}

const LEFT_HEADER = 'pannier-left'

/** This instance is being stopped, and has left the call to whoever can go on with it. */
export function leftReply(): HttpReply {
  const reply = refusal(503, 'This instance is being stopped. Send the answer again, to another one.')
  return { ...reply, headers: { [LEFT_HEADER]: 'true' } }
}

const PASSED = ['mcp-session-id', 'mcp-protocol-version', 'last-event-id', 'accept'] as const

export class Forwarder {
  readonly #messenger: Messenger
  readonly #peers: Peers

  constructor(messenger: Messenger, peers: Peers) {
    this.#messenger = messenger
    this.#peers = peers
  }

  /** What the other instance sends on a stream comes after `opening`. */
  async forward(instance: Instance, request: ClientRequest, sink: Sink, opening = ''): Promise<Forwarded> {
    const wasLost = this.#peers.isLost(instance.id)
    const delivery = await this.#messenger.send(instance, writeRequest(request), { wasLost })
    if (delivery.kind === 'gone') {
      this.#peers.lose(instance, delivery.successor)
      return delivery
    }
    this.#peers.meetAgain(instance)
    const { response } = delivery
    const moved = response.headers.get(MOVED_HEADER)
    const to = moved === null ? undefined : readInstance(JSON.parse(moved))
    if (to !== undefined) {
      await discard(response)
      return { kind: 'moved', to }
    }
    if (response.headers.has(LEFT_HEADER)) {
      await discard(response)
      return { kind: 'gone', why: 'it is being stopped' }
    }
    if (response.headers.get('content-type') === SSE_HEADERS['content-type']) {
      sink.open(SSE_HEADERS)
      if (opening !== '') sink.write(opening)
      void pipe(response, sink)
      return { kind: 'replied', reply: undefined }
    }
    const body = await response.text()
    return { kind: 'replied', reply: { status: response.status, ...(body !== '' && { body }) } }
  }

  /** Goes on with an open answer by the stream that another instance has; false when that has none. */
  async join(to: Instance, request: ClientRequest, sink: Sink): Promise<boolean> {
    const delivery = await this.#messenger.send(to, writeRequest(request))
    if (delivery.kind === 'gone') return false
    const { response } = delivery
    const isStream = response.headers.get('content-type') === SSE_HEADERS['content-type']
    if (isStream) void pipe(response, sink)
    else await discard(response)
    return isStream
  }
}

/** Reads what `writeRequest` wrote. It was sealed, so it is of an instance of this server. */
export function readRequest(message: Json): ClientRequest {
  const { method, headers, body, principal, gone } = message as {
    method: ClientRequest['method']
    headers: Readonly<Record<string, string>>
    body?: Json
    principal?: Principal
    gone: readonly string[]
  }
  return {
    method,
    header: (name) => headers[name],
    principal,
    ...(body !== undefined && { body }),
    gone: new Set(gone),
  }
}

function writeRequest({ method, header, principal, body, gone }: ClientRequest): Json {
  const headers = Object.fromEntries(PASSED.map((name) => [name, header(name)]))
  return { kind: 'request', method, headers, body, principal, gone: [...gone] }
}

/** Until one of the two is gone. A stream that breaks off is one that its client comes back for. */
async function pipe(response: Response, sink: Sink): Promise<void> {
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  sink.onDisconnect(() => void reader?.cancel().catch(() => {}))
  try {
    for (;;) {
      const chunk = await reader?.read()
      if (chunk?.value === undefined) break
      sink.write(chunk.value)
    }
  } catch {
    // The instance is gone; the client comes back and learns what became of its call.
  }
  sink.end()
}
