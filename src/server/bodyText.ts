/** From bytes to one JSON value, refusing what two readers could read differently. */
import { isUtf8 } from 'node:buffer'
import { ProtocolError } from '../protocol/index.ts'
import { assertPlainJson } from './plainJson.ts'

export function parseBytes(bytes: Buffer): unknown {
  if (!isUtf8(bytes)) throw new ProtocolError('PARSE_FAILED', 'The body is not UTF-8.')
  return parseText(bytes.toString('utf8'))
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
