/**
 * New requests at a stopping instance. It forwards each to another instance, and streams the answer back to the client.
 *
 * - A request is sent once. An instance that is silent may have begun it.
 * - The reply begins before the request is served: slow work is no silence.
 */
import { discard, goneReply, type ReplySink, ReplyStream, type ClusterScope } from '../../cluster/index.ts'
import type { Era } from '../../protocol/index.ts'
import type { Principal } from '../auth/authenticator.ts'
import type { HttpReply, Sink } from '../http/exchange.ts'
import { refusal } from '../http/refusal.ts'
import { SSE_HEADERS, sseEvent } from '../http/sse.ts'

/** An admitted request. It is sealed on its way to another instance. */
export interface NewRequest {
  readonly headers: Readonly<Record<string, string>>
  /** The message, or several. */
  readonly body: unknown
  readonly principal: Principal | undefined
  readonly era: Era | undefined
  /** The client's address. */
  readonly address: string | undefined
}

/** Answers by a reply, or by the sink. */
export type ServeNew = (request: NewRequest, sink: Sink) => Promise<HttpReply | undefined>

const SILENT = refusal(
  502,
  'This instance is being stopped, and the one that took the request does not answer. Look whether it had effects before you repeat it.',
)

export class NewRequests {
  readonly #scope: ClusterScope

  constructor(scope: ClusterScope) {
    this.#scope = scope
  }

  /** Serves the requests that other instances forward. */
  serveBy(serve: ServeNew): void {
    this.#scope.handle('new-request', async (message, _, sink) => {
      if (this.#scope.members.isStopping) return goneReply('it is being stopped')
      sink.open(SSE_HEADERS)
      const request = message as unknown as NewRequest
      const answer = new ForwardedAnswer(sink, request.address)
      const reply = await serve(request, answer)
      if (reply !== undefined) answer.finish(reply)
      return undefined
    })
  }

  /** Forwards a request to another instance. 'untaken': no instance takes it, and it was not begun. */
  async forward(request: NewRequest, sink: Sink): Promise<HttpReply | undefined | 'untaken'> {
    for (const member of shuffled(this.#scope.members.knownToStay())) {
      const forwarded = await this.#scope.forward(member, { kind: 'new-request', ...request }, { isOnce: true })
      if (forwarded.kind === 'silent') return SILENT
      if (forwarded.kind !== 'answered') continue
      if (forwarded.response.ok) return passBack(forwarded.response, sink)
      await discard(forwarded.response)
    }
    return 'untaken'
  }
}

/** The answer to a forwarded request: events whose messages are its head, with the whole body or before parts of it. */
class ForwardedAnswer implements Sink {
  readonly address: string | undefined
  readonly #sink: ReplySink
  #headers: Readonly<Record<string, string>> = {}

  constructor(sink: ReplySink, address: string | undefined) {
    this.#sink = sink
    this.address = address
  }

  get disconnected(): boolean {
    return this.#sink.disconnected
  }

  setHeaders(headers: Readonly<Record<string, string>>): void {
    this.#headers = { ...this.#headers, ...headers }
  }

  open(headers: Readonly<Record<string, string>>): void {
    this.#send({ headers: { ...this.#headers, ...headers } })
  }

  write(text: string): void {
    this.#send({ text })
  }

  end(): void {
    this.#sink.end()
  }

  onDisconnect(listener: () => void): void {
    this.#sink.onDisconnect(listener)
  }

  finish(reply: HttpReply): void {
    this.#send({ reply: { ...reply, headers: { ...this.#headers, ...reply.headers } } })
    this.end()
  }

  #send(part: AnswerPart): void {
    this.#sink.write(sseEvent(JSON.stringify(part)))
  }
}

type AnswerPart =
  | { readonly reply: HttpReply }
  | { readonly headers: Readonly<Record<string, string>> }
  | { readonly text: string }

/** Returns a whole reply; a stream is sent to the client in parts. */
async function passBack(response: Response, sink: Sink): Promise<HttpReply | undefined> {
  const reader = new ReplyStream(response)
  let isOpen = false
  sink.onDisconnect(() => reader.cancel())
  try {
    for await (const message of reader.messages()) {
      const part = message as unknown as AnswerPart
      if ('reply' in part) return part.reply
      if ('headers' in part) sink.open(part.headers)
      else sink.write(part.text)
      isOpen = true
    }
  } catch {
    // The other instance is gone. A client of a session comes back to its stream.
  }
  if (!isOpen) return SILENT
  sink.end()
  return undefined
}

function shuffled<T>(list: readonly T[]): readonly T[] {
  const first = Math.floor(Math.random() * list.length)
  return [...list.slice(first), ...list.slice(0, first)]
}
