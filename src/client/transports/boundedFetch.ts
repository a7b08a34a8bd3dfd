/**
 * A size limit for HTTP responses, so that a server cannot fill the memory. The limit holds after decompression, since a
 * few compressed bytes may become very many. In an event stream it holds for each event.
 */
import type { FetchLike } from '@modelcontextprotocol/client'
import { ClientError } from '../errors.ts'
import { isEventStream, withBody } from './eventStream.ts'
import { MAX_MESSAGE_BYTES } from './messageLimit.ts'

export function boundedFetch(fetch: FetchLike, maxBytes = MAX_MESSAGE_BYTES): FetchLike {
  return async (url, init) => {
    const response = await fetch(url, init)
    if (response.body === null || fits(response, maxBytes)) return response
    const sizeWith = isEventStream(response) ? eventBytes() : totalBytes()
    return withBody(response, boundedBody(response.body, sizeWith, maxBytes))
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

/** Whether the body cannot exceed the limit: its length is declared, and it is not compressed. */
function fits({ headers }: Response, maxBytes: number): boolean {
  const length = headers.get('content-length')
  return length !== null && !headers.has('content-encoding') && Number(length) <= maxBytes
}

/** Takes the next chunk, and gives the size so far of the message that it belongs to. */
export type SizeCounter = (chunk: Uint8Array) => number

export function totalBytes(): SizeCounter {
  let bytes = 0
  return (chunk) => {
    bytes += chunk.length
    return bytes
  }
}

/** A blank line ends an event: two line ends in a row, which may be in two chunks. */
export function eventBytes(): SizeCounter {
  let bytes = 0
  let last = ''
  return (chunk) => {
    const text = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    const isSplit = BLANK_LINES.includes(last + text.toString('latin1', 0, 1))
    const end = Math.max(...BLANK_LINES.map((blank) => text.lastIndexOf(blank)))
    bytes = end >= 0 ? text.length - end : isSplit ? text.length : bytes + text.length
    last = text.toString('latin1', text.length - 1)
    return bytes
  }
}

// A carriage return and a line feed are one line end.
const BLANK_LINES = ['\n\n', '\r\r', '\n\r']

function tooLarge(maxBytes: number): ClientError {
  const sentence = `The server sent a message of more than ${maxBytes} bytes, which is over the limit.`
  return new ClientError('MESSAGE_UNREADABLE', sentence)
}
