import { MAX_MESSAGE_BYTES } from './messageLimit.ts'

const NEWLINE = 0x0a
const CARRIAGE_RETURN = 0x0d

/**
 * Splits chunks into lines, at newline bytes only: `node:readline` also splits at U+2028, which JSON may contain. A line
 * of more than `maxBytes` is dropped, and the reader goes on after its end.
 */
export function lineReader(onLine: (line: string) => void, maxBytes = MAX_MESSAGE_BYTES): (chunk: Buffer) => void {
  let parts: Buffer[] = []
  let bytes = 0

  const keep = (part: Buffer): void => {
    bytes += part.length
    if (bytes <= maxBytes) parts.push(part)
    else parts = []
  }
  const take = (): Buffer => {
    const line = Buffer.concat(parts)
    parts = []
    bytes = 0
    return line
  }
  const emit = (line: string): void => {
    if (line !== '') onLine(line)
  }

  return (chunk) => {
    let from = 0
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      const isWhole = bytes === 0 && at - from <= maxBytes
      if (!isWhole) keep(chunk.subarray(from, at))
      emit(isWhole ? textOf(chunk, from, at) : textOf(take()))
      from = at + 1
    }
    if (from < chunk.length) keep(chunk.subarray(from))
  }
}

function textOf(line: Buffer, from = 0, to = line.length): string {
  return line.toString('utf8', from, line[to - 1] === CARRIAGE_RETURN ? to - 1 : to)
}
