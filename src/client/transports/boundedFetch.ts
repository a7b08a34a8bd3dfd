/**
 * What comes over HTTP, up to a size: a server must not be able to fill our memory, and a few compressed bytes unfold
 * into very many. In a stream of events each event counts for itself.
 */
import type { FetchLike } from '@modelcontextprotocol/client'
import { ClientError } from '../errors.ts'
import { isEventStream, withBody } from './eventStream.ts'
import { MAX_MESSAGE_BYTES } from './messageLimit.ts'

export function boundedFetch(fetch: FetchLike, maxBytes = MAX_MESSAGE_BYTES): FetchLike {
  return async (url, init) => {
    const response = await fetch(url, init)
    if (response.body === null || fits(response, maxBytes)) return response
    const countOf = isEventStream(response) ? eventBytes() : totalBytes()
    const bounded = new TransformStream<Uint8Array, Uint8Array>({
      transform(chunk, controller) {
        if (countOf(chunk) > maxBytes) throw tooLarge(maxBytes)
        controller.enqueue(chunk)
      },
    })
    return withBody(response, response.body.pipeThrough(bounded))
  }
}

/** A length that is said holds, where nothing has to be unfolded. */
function fits({ headers }: Response, maxBytes: number): boolean {
  const length = headers.get('content-length')
  return length !== null && !headers.has('content-encoding') && Number(length) <= maxBytes
}

/** How many bytes the message has that a chunk belongs to, as far as they have come. */
type CountOf = (chunk: Uint8Array) => number

function totalBytes(): CountOf {
  let bytes = 0
  return (chunk) => {
    bytes += chunk.length
    return bytes
  }
}

/** A blank line ends an event: two line ends in a row, which may lie in two chunks. */
function eventBytes(): CountOf {
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
  const sentence = `The server sent a message of more than ${maxBytes} bytes; nobody could use it.`
  return new ClientError('MESSAGE_UNREADABLE', sentence)
}
