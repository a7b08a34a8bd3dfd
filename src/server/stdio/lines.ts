import type { Readable } from 'node:stream'

const NEWLINE = 0x0a

/**
 * Calls `take` with each non-empty line, without its line break. A line over the limit is dropped and reported once.
 */
export async function readLines(
  input: Readable,
  maxBytes: number,
  take: (line: Buffer | 'too long') => void,
): Promise<void> {
  let parts: Buffer[] = []
  let size = 0
  let dropping = false

  const add = (part: Buffer): void => {
    size += part.length
    if (size > maxBytes) {
      if (!dropping) take('too long')
      dropping = true
      parts = []
    } else if (part.length > 0) {
      parts.push(part)
    }
  }

  const endLine = (): void => {
    const line = trimmed(parts.length === 1 && parts[0] !== undefined ? parts[0] : Buffer.concat(parts))
    if (!dropping && line.length > 0) take(line)
    parts = []
    size = 0
    dropping = false
  }

  for await (const chunk of input as AsyncIterable<Buffer>) {
    let start = 0
    for (let end = chunk.indexOf(NEWLINE); end >= 0; end = chunk.indexOf(NEWLINE, start)) {
      add(chunk.subarray(start, end))
      endLine()
      start = end + 1
    }
    add(chunk.subarray(start))
  }
  endLine()
}

function trimmed(line: Buffer): Buffer {
  return line.at(-1) === 0x0d ? line.subarray(0, -1) : line
}
