/**
 * Request bodies: their limits, and parsing to one JSON value. Refuses texts that two parsers could read differently.
 */
import {
  assertFew,
  assertShallow,
  countMembers,
  isUtf8,
  maxItems,
  ProtocolError,
  utf8Text,
} from '../../protocol/index.ts'
import type { HttpReply } from './exchange.ts'
import { RequestRefused, refusal } from './refusal.ts'

/** The largest body or line that is taken unless an option says otherwise, in bytes. */
export const MAX_BODY_BYTES = 4 * 1024 * 1024

/** The reply to a body over the limit. */
export function tooLarge(maxBytes: number): HttpReply {
  return refusal(413, `The body is larger than ${maxBytes} bytes.`)
}

/** Each chunk costs time and memory, however small it is, so the chunks of a body have an average size from this number on. */
const FEW_CHUNKS = 1000
const MIN_CHUNK_BYTES = 256
const TOO_MANY_CHUNKS = refusal(
  413,
  `The body comes in too many pieces; send at least ${MIN_CHUNK_BYTES} bytes in each.`,
)

/** Measures a body chunk by chunk. Gives the refusal once it exceeds a limit. */
export function bodyGauge(maxBytes: number): (chunk: Uint8Array) => HttpReply | undefined {
  let size = 0
  let chunks = 0
  return (chunk) => {
    size += chunk.length
    chunks++
    if (size > maxBytes) return tooLarge(maxBytes)
    return chunks > FEW_CHUNKS && size < chunks * MIN_CHUNK_BYTES ? TOO_MANY_CHUNKS : undefined
  }
}

/** The chunks of a body as they arrive; throws RequestRefused once they exceed a limit. */
export async function* limited(chunks: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array> {
  const refusalOf = bodyGauge(maxBytes)
  for await (const chunk of chunks) {
    const refused = refusalOf(chunk)
    if (refused !== undefined) throw new RequestRefused(refused)
    yield chunk
  }
}

/** Chunks that are in memory already. */
export async function* chunksOf(...chunks: Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks
}

/** `maxBytes` is the limit of bodies: with a larger one, a body may also have more members. */
export function parseBytes(bytes: Uint8Array, maxBytes: number): unknown {
  const text = utf8Text(bytes)
  // Invalid UTF-8 becomes a replacement character, so only a text that has one needs the exact check.
  if (text.includes('\ufffd') && !isUtf8(bytes)) throw new ProtocolError('PARSE_FAILED', 'The body is not UTF-8.')
  return parseText(text, maxBytes)
}

/** A body that a framework has read: bytes, or the value that it has parsed. */
export function parseBody(body: unknown, maxBytes: number): unknown {
  if (body instanceof Uint8Array) return parseBytes(body, maxBytes)
  assertSmall(body, maxItems(maxBytes))
  return body
}

/**
 * Refuses three things that JSON.parse accepts: nesting so deep that recursive code would overflow the stack, more members
 * than the limit, and an object with the same key twice.
 */
export function parseText(text: string, maxBytes: number): unknown {
  const written = countMembers(text, maxItems(maxBytes))
  const value = parsed(text)
  if (membersOf(value) < written)
    throw new ProtocolError('PARSE_FAILED', 'The body has an object with the same key twice.')
  return value
}

function parsed(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new ProtocolError('PARSE_FAILED', 'The body is not JSON.')
  }
}

/** The number of members of all objects in a value. JSON.parse keeps one of two with the same key. */
function membersOf(value: unknown): number {
  if (typeof value !== 'object' || value === null) return 0
  let members = 0
  if (Array.isArray(value)) {
    for (const item of value) members += membersOf(item)
    return members
  }
  // Not by Object.keys: a list of them would cost more than the rest.
  for (const key in value) members += 1 + membersOf((value as Record<string, unknown>)[key])
  return members
}

/** Walks level by level instead of recursively, so that this check cannot overflow the stack itself. */
function assertSmall(body: unknown, most: number): void {
  let items = 1
  let level = [body].filter(isContainer)
  for (let depth = 1; level.length > 0; depth++) {
    assertShallow(depth)
    const next: object[] = []
    for (const container of level) {
      const inside: unknown[] = Object.values(container)
      assertFew((items += Array.isArray(container) ? inside.length : 2 * inside.length), most)
      next.push(...inside.filter(isContainer))
    }
    level = next
  }
}

function isContainer(value: unknown): value is object {
  return typeof value === 'object' && value !== null
}
