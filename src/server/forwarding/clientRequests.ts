/** Session-era requests that belong to another instance: they are forwarded to it, and its reply goes back to the client. */
import { discard, type Instance, type ClusterScope } from '../../cluster/index.ts'
import type { HeaderReader, Json } from '../../protocol/index.ts'
import type { Principal } from '../auth/authenticator.ts'
import type { HttpReply, Sink } from '../http/exchange.ts'
import { SSE_HEADERS } from '../http/sse.ts'

/** The facts about a request that another instance needs to serve it. */
export interface ClientRequest {
  readonly method: 'GET' | 'POST'
  readonly header: HeaderReader
  /** The principal, as the client's instance authenticated it. */
  readonly principal: Principal | undefined
  /** The message of a POST. */
  readonly body?: Json
  /** The instances that were found to be gone. */
  readonly gone: ReadonlySet<string>
}

/** A reply of undefined went by the sink. */
export type ForwardedRequest =
  | { readonly kind: 'replied'; readonly reply: HttpReply | undefined }
  | { readonly kind: 'moved'; readonly to: Instance }
  | { readonly kind: 'gone'; readonly why: string }

const PASSED = ['mcp-session-id', 'mcp-protocol-version', 'last-event-id', 'accept'] as const

export class ClientRequests {
  readonly #scope: ClusterScope

  constructor(scope: ClusterScope) {
    this.#scope = scope
  }

  /** Forwards a request to an instance. `opening` goes to the client before the stream of that instance. */
  async forward(to: Instance, request: ClientRequest, sink: Sink, opening = ''): Promise<ForwardedRequest> {
    const forwarded = await this.#scope.forward(to, writeRequest(request))
    if (forwarded.kind === 'moved') return forwarded
    if (forwarded.kind !== 'answered') return { kind: 'gone', why: forwarded.why }
    const { response } = forwarded
    if (isStream(response)) {
      sink.open(SSE_HEADERS)
      if (opening !== '') sink.write(opening)
      void pipe(response, sink)
      return { kind: 'replied', reply: undefined }
    }
    const body = await response.text()
    return { kind: 'replied', reply: { status: response.status, ...(body !== '' && { body }) } }
  }

  /** Continues an open answer with the stream of another instance; false if that has no stream. */
  async join(to: Instance, request: ClientRequest, sink: Sink): Promise<boolean> {
    const forwarded = await this.#scope.forward(to, writeRequest(request))
    if (forwarded.kind !== 'answered') return false
    const { response } = forwarded
    if (isStream(response)) void pipe(response, sink)
    else await discard(response)
    return isStream(response)
  }
}

function isStream({ headers }: Response): boolean {
  return headers.get('content-type') === SSE_HEADERS['content-type']
}

/** Reads the message of `writeRequest`. It was sealed, so it comes from an instance of this server. */
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

/** Copies a stream until either side is gone. The client of a stream that breaks off comes back for the rest. */
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
    // The instance is gone; the client comes back and gets the outcome of its call.
  }
  sink.end()
}
