/**
 * The last message of an event stream that ends with its connection. Nothing else tells a whole one from one that was cut
 * off, so its events are read: the answer to the request comes last.
 */
import type { IncomingHttpHeaders } from 'node:http'
import { createParser } from 'eventsource-parser'
import { isObject, parseJson, type RequestId } from '../../protocol/index.ts'

/** Whether an answer has neither a length nor chunks (RFC 9112, 6.3). One that is compressed cannot be read here. */
export function endsByClosing(headers: IncomingHttpHeaders): boolean {
  const { 'content-length': length, 'transfer-encoding': chunks, 'content-encoding': compressed } = headers
  return length === undefined && chunks === undefined && compressed === undefined
}

export class LastMessage {
  readonly #decoder = new TextDecoder()
  readonly #events = createParser({ onEvent: ({ data }) => void (this.#data = data) })
  #data = ''

  add(chunk: Buffer): void {
    this.#events.feed(this.#decoder.decode(chunk, { stream: true }))
  }

  /** Whether it answers the request with this id. A notification needs no answer. */
  answers(id: RequestId | undefined): boolean {
    if (id === undefined) return true
    const message = parseJson(this.#data)
    return isObject(message) && message['id'] === id && ('result' in message || 'error' in message)
  }
}
