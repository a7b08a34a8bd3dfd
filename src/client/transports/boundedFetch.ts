/**
 * The limits of HTTP responses: their size, so that a server cannot fill the memory, and where they redirect to. The size
 * counts after decompression, since a few compressed bytes may become very many. In an event stream limits hold for each
 * event.
 */
import type { FetchLike } from '@modelcontextprotocol/client'
import { ClientError } from '../errors.ts'
import { type EventMapper, isEventStream, isJson, mapEvents, withBody } from './eventStream.ts'
import {
  COUNTED,
  eventBytes,
  type SizeCounter,
  totalBytes,
  assertReadable,
  readableText,
  seemsMessage,
  ServerUnreadable,
  UnreadableRun,
} from './serverMessage.ts'
import { MAX_MESSAGE_BYTES } from '../../protocol/index.ts'

export function boundedFetch(fetch: FetchLike, maxBytes = MAX_MESSAGE_BYTES): FetchLike {
  return async (url, init) => {
    const response = await fetch(url, init)
    if (response.body === null) return response
    if (isEventStream(response)) {
      const bounded = withBody(response, boundedBody(response.body, eventBytes(), maxBytes))
      return mapEvents(bounded, readableEvents(maxBytes))
    }
    if (isJson(response)) return withBody(response, readableBody(response.body, maxBytes))
    if (fits(response, maxBytes)) return response
    return withBody(response, boundedBody(response.body, totalBytes(), maxBytes))
  }
}

/** Events of other names are no messages, and empty ones only have an id. */
function readableEvents(maxBytes: number): EventMapper {
  const unreadable = new UnreadableRun()
  return {
    each(data, _, name = 'message') {
      if (name !== 'message' || data === '') return data
      const text = readableText(data, maxBytes)
      if (text !== undefined && seemsMessage(text)) unreadable.end()
      else if (unreadable.add()) throw new ServerUnreadable()
      return text
    },
  }
}

/** Reads on demand. A stream may stay open for hours, and a TransformStream would take three times the memory. */
function boundedBody(
  body: ReadableStream<Uint8Array>,
  sizeWith: SizeCounter,
  maxBytes: number,
): ReadableStream<Uint8Array> {
  const reader = body.getReader()
  const source: UnderlyingDefaultSource<Uint8Array> = {
    async pull(controller) {
      const { done, value } = await reader.read()
      if (done) return controller.close()
      if (sizeWith(value) <= maxBytes) return controller.enqueue(value)
      const error = tooLarge(maxBytes)
      reader.cancel(error).catch(() => {}) // it has ended already
      throw error
    },
    cancel: (reason) => reader.cancel(reason),
  }
  return new ReadableStream(source, { highWaterMark: 0 })
}

/** Reads the whole body, which is one message, and checks it before it is passed on. */
function readableBody(body: ReadableStream<Uint8Array>, maxBytes: number): ReadableStream<Uint8Array> {
  const whole = boundedBody(body, totalBytes(), maxBytes)
  const source: UnderlyingDefaultSource<Uint8Array> = {
    async pull(controller) {
      const text = await new Response(whole).text()
      assertReadable(text, maxBytes)
      controller.enqueue(new TextEncoder().encode(text))
      controller.close()
    },
    cancel: (reason) => whole.cancel(reason),
  }
  return new ReadableStream(source, { highWaterMark: 0 })
}

/** Whether the body cannot exceed the limit: its length is declared, and it is not compressed. */
function fits({ headers }: Response, maxBytes: number): boolean {
  const length = headers.get('content-length')
  return length !== null && !headers.has('content-encoding') && Number(length) <= maxBytes
}

function tooLarge(maxBytes: number): ClientError {
  const sentence = `The server sent a message of more than ${maxBytes} bytes, ${COUNTED}, which is over the limit.`
  return new ClientError('MESSAGE_UNREADABLE', sentence)
}

const MAX_REDIRECTS = 3

/**
 * Follows redirects within one origin, such as from `/mcp` to `/mcp/`, and no others: headers, tokens and state belong
 * to the server that was named. Another origin gets no request; the redirect is given back as the response.
 */
export function sameOrigin(fetch: FetchLike): FetchLike {
  return async (input, init) => {
    let url = new URL(input)
    for (let redirects = 0; ; redirects++) {
      const response = await fetch(url, { ...init, redirect: 'manual' })
      const next = nextUrl(response, url, init?.method)
      if (next === undefined || next.origin !== url.origin || redirects === MAX_REDIRECTS) return response
      await response.body?.cancel()
      url = next
    }
  }
}

/** 307 and 308 keep the method and the body. Other redirects would make a GET of a POST. */
function nextUrl({ status, headers }: Response, from: URL, method = 'GET'): URL | undefined {
  const keepsMethod = status === 307 || status === 308 || method === 'GET' || method === 'HEAD'
  const location = headers.get('location')
  const isRedirect = status >= 300 && status < 400 && keepsMethod && location !== null
  return isRedirect && URL.canParse(location, from) ? new URL(location, from) : undefined
}
