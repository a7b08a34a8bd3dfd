/**
 * Reads HTTP/1.1 responses from one keep-alive connection, with Content-Length or chunked.
 * A connection has one request under way at a time, so bytes after a complete response are an error.
 */
export interface RawResponse {
  status: number
  body: string
}

const NOTHING = Buffer.alloc(0)
const MAX_RESPONSE_BYTES = 16 * 1024 * 1024

export class ResponseReader {
  #held: Buffer = NOTHING

  /** The response, once its last byte has arrived. */
  push(chunk: Buffer): RawResponse | undefined {
    const bytes = this.#held.length === 0 ? chunk : Buffer.concat([this.#held, chunk])
    const read = readResponse(bytes)
    if (read === undefined) {
      if (bytes.length > MAX_RESPONSE_BYTES) throw new Error('A response is longer than 16 MB.')
      this.#held = bytes
      return undefined
    }
    if (read.end !== bytes.length) throw new Error('The server sent bytes that no request asked for.')
    this.#held = NOTHING
    return read.response
  }
}

function readResponse(bytes: Buffer): { response: RawResponse; end: number } | undefined {
  const headEnd = bytes.indexOf('\r\n\r\n')
  if (headEnd === -1) return undefined
  const head = bytes.toString('latin1', 0, headEnd)
  if (!head.startsWith('HTTP/1.1 ')) throw new Error(`Not an HTTP/1.1 response: ${head.slice(0, 40)}`)
  const body = readBody(head, bytes, headEnd + 4)
  if (body === undefined) return undefined
  return { response: { status: Number(head.slice(9, 12)), body: body.text }, end: body.end }
}

function readBody(head: string, bytes: Buffer, start: number): { text: string; end: number } | undefined {
  const length = /^content-length: *(\d+)/im.exec(head)?.[1]
  if (length !== undefined) return readLength(bytes, start, Number(length))
  if (/^transfer-encoding: *chunked/im.test(head)) return readChunks(bytes, start)
  throw new Error('A response has neither Content-Length nor chunks.')
}

function readLength(bytes: Buffer, start: number, length: number): { text: string; end: number } | undefined {
  const end = start + length
  return bytes.length < end ? undefined : { text: bytes.toString('utf8', start, end), end }
}

function readChunks(bytes: Buffer, start: number): { text: string; end: number } | undefined {
  const parts: Buffer[] = []
  for (let at = start; at < bytes.length; ) {
    const lineEnd = bytes.indexOf('\r\n', at)
    if (lineEnd === -1) return undefined
    const size = Number.parseInt(bytes.toString('latin1', at, lineEnd), 16)
    if (Number.isNaN(size)) throw new Error('A chunk has no size.')
    const chunkEnd = lineEnd + 2 + size
    if (bytes.length < chunkEnd + 2) return undefined
    if (size === 0) return { text: joinText(parts), end: chunkEnd + 2 }
    parts.push(bytes.subarray(lineEnd + 2, chunkEnd))
    at = chunkEnd + 2
  }
  return undefined
}

function joinText(parts: Buffer[]): string {
  const [only] = parts
  return parts.length === 1 && only !== undefined ? only.toString() : Buffer.concat(parts).toString()
}
