/** From bytes to one JSON value, refusing what two readers could read differently. */
import { isUtf8 } from 'node:buffer'
import { ProtocolError } from '../../protocol/index.ts'
import { assertPlainJson, MAX_DEPTH } from './plainJson.ts'

export function parseBytes(bytes: Buffer): unknown {
  const text = bytes.toString('utf8')
  // Where bytes are no UTF-8 the text has a replacement character; without one there is nothing more to look for.
  if (text.includes('\ufffd') && !isUtf8(bytes)) throw new ProtocolError('PARSE_FAILED', 'The body is not UTF-8.')
  return parseText(text)
}

/** What a framework made of the body before us: bytes, or a value it parsed by its own rules. */
export function parseBody(body: unknown): unknown {
  if (body instanceof Uint8Array) return parseBytes(Buffer.from(body.buffer, body.byteOffset, body.byteLength))
  assertShallow(body)
  return body
}

export function parseText(text: string): unknown {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new ProtocolError('PARSE_FAILED', 'The body is not JSON.')
  }
  assertPlainJson(text)
  return value
}

/** Level by level, so that no nesting is too deep for this check itself. */
function assertShallow(body: unknown): void {
  let level = [body].filter(isContainer)
  for (let depth = 0; level.length > 0; depth++) {
    if (depth > MAX_DEPTH) throw new ProtocolError('PARSE_FAILED', `The body nests deeper than ${MAX_DEPTH} levels.`)
    level = level.flatMap((value) => Object.values(value) as unknown[]).filter(isContainer)
  }
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
