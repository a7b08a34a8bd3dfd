import { MAX_MESSAGE_BYTES } from '../../protocol/index.ts'
import { totalBytes } from './serverMessage.ts'

const NEWLINE = 0x0a
const CARRIAGE_RETURN = 0x0d

/** How many bytes of a line that is too long are kept, of its beginning and of its end. */
const EDGE_BYTES = 4096

/**
 * Splits chunks into lines, at newline bytes only: `node:readline` also splits at U+2028, which JSON may contain. A line
 * of more than `maxBytes` is dropped, and the reader continues after its end; `onTooLong` gets its beginning and its end.
 */
export function lineReader(
  onLine: (line: string) => void,
  maxBytes = MAX_MESSAGE_BYTES,
  onTooLong: (edges: string) => void = () => {},
): (chunk: Buffer) => void {
  let parts: Buffer[] = []
  let sizeWith = totalBytes()
  let isPart = false
  let isTooLong = false

  const keep = (part: Buffer): void => {
    isPart = true
    isTooLong = sizeWith(part) > maxBytes
    if (isTooLong) parts = edgesOf(parts, part)
    else parts.push(part)
  }
  const emit = (line: string, take: (line: string) => void): void => {
    if (line !== '') take(line)
  }
  const emitParts = (): void => {
    emit(textOf(Buffer.concat(parts)), isTooLong ? onTooLong : onLine)
    parts = []
    sizeWith = totalBytes()
    isPart = isTooLong = false
  }

  return (chunk) => {
    let from = 0
    for (let at = chunk.indexOf(NEWLINE); at >= 0; at = chunk.indexOf(NEWLINE, from)) {
      if (!isPart && at - from <= maxBytes) emit(textOf(chunk, from, at), onLine)
      else {
        keep(chunk.subarray(from, at))
        emitParts()
      }
      from = at + 1
    }
    if (from < chunk.length) keep(chunk.subarray(from))
  }
}

/** The beginning of the first part and the end of the last two. */
function edgesOf(parts: readonly Buffer[], last: Buffer): Buffer[] {
  const first = parts[0] ?? last
  const end = Buffer.concat([parts.at(-1) ?? Buffer.alloc(0), last])
  return [Buffer.from(first.subarray(0, EDGE_BYTES)), Buffer.from(end.subarray(-EDGE_BYTES))]
}

function textOf(line: Buffer, from = 0, to = line.length): string {
  return line.toString('utf8', from, line[to - 1] === CARRIAGE_RETURN ? to - 1 : to)
}
