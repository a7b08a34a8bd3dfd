const NEWLINE = 0x0a
const CARRIAGE_RETURN = 0x0d
const MAX_LINE_BYTES = 64 * 1024 * 1024

/**
 * Makes lines of chunks. Splits at the byte of the newline only: `node:readline` also splits at U+2028, which may stand
 * in JSON. A line that never ends is dropped, and the reader goes on behind it.
 */
export function lineReader(onLine: (line: string) => void, maxBytes = MAX_LINE_BYTES): (chunk: Buffer) => void {
  let parts: Buffer[] = []
  let bytes = 0

  const add = (part: Buffer): void => {
    bytes += part.length
    if (bytes <= maxBytes) parts.push(part)
    else parts = []
  }
  const finish = (): void => {
    const line = bytes <= maxBytes ? textOf(parts) : ''
    parts = []
    bytes = 0
    if (line !== '') onLine(line)
  }

  return (chunk) => {
    let from = 0
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      add(chunk.subarray(from, at))
      from = at + 1
      finish()
    }
    if (from < chunk.length) add(chunk.subarray(from))
  }
}

function textOf(parts: readonly Buffer[]): string {
  const line = parts.length === 1 ? (parts[0] as Buffer) : Buffer.concat(parts)
  const end = line.at(-1) === CARRIAGE_RETURN ? line.length - 1 : line.length
  return line.toString('utf8', 0, end)
}
