/** The size of a message while it comes. Whatever collects the chunks of one compares it with a limit. */

/** Takes the next chunk, and gives the size so far of the message that it belongs to. */
export type SizeCounter = (chunk: Uint8Array) => number

/** What a chunk takes in memory, however small it is. A message may have some that are smaller. */
const MIN_CHUNK_BYTES = 128
const FREE_CHUNKS = 1000
/** Stands after a limit, in the sentence about a message that exceeds it. */
export const COUNTED = `where chunks count as ${MIN_CHUNK_BYTES} bytes at least`

export function totalBytes(): SizeCounter {
  let bytes = 0
  let chunks = 0
  return (chunk) => {
    bytes += ++chunks > FREE_CHUNKS ? Math.max(chunk.length, MIN_CHUNK_BYTES) : chunk.length
    return bytes
  }
}

/** A blank line ends an event: two line ends in a row, which may be in two chunks. */
export function eventBytes(): SizeCounter {
  let sizeWith = totalBytes()
  let last = ''
  return (chunk) => {
    const text = Buffer.from(chunk.buffer, chunk.byteOffset, chunk.byteLength)
    const isSplit = BLANK_LINES.includes(last + text.toString('latin1', 0, 1))
    const end = Math.max(...BLANK_LINES.map((blank) => text.lastIndexOf(blank)))
    if (end >= 0 || isSplit) sizeWith = totalBytes()
    last = text.toString('latin1', text.length - 1)
    return sizeWith(end >= 0 ? text.subarray(end) : text)
  }
}

// A carriage return and a line feed are one line end.
const BLANK_LINES = ['\n\n', '\r\r', '\n\r']
