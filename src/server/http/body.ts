/** Bodies: their limit, and from bytes to one JSON value, refusing what two parsers could read differently. */
import { isUtf8 } from 'node:buffer'
import { assertFew, assertShallow, countMembers, maxItems, ProtocolError } from '../../protocol/index.ts'
import type { HttpReply } from './exchange.ts'
import { RequestRefused, refusal } from './refusal.ts'

/** The largest body or line that is taken unless an option says otherwise, in bytes. */
export const MAX_BODY_BYTES = 4 * 1024 * 1024

/** The reply to a body over the limit. */
export function tooLarge(maxBytes: number): HttpReply {
  return refusal(413, `The body is larger than ${maxBytes} bytes.`)
}

/** Each chunk takes time and memory, however small it is, so a body in many has to have larger ones. */
const FEW_CHUNKS = 1000
const MIN_CHUNK_BYTES = 256
const TOO_MANY_CHUNKS = refusal(
  413,
  `The body comes in too many pieces; send at least ${MIN_CHUNK_BYTES} bytes in each.`,
)

/** Measures a body while it comes: gives the reply to the chunk that makes it too much. */
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

/** The chunks of a body as they come; throws RequestRefused when they are too much. */
export async function* limited(chunks: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array> {
  const refusalOf = bodyGauge(maxBytes)
  for await (const chunk of chunks) {
    const refused = refusalOf(chunk)
    if (refused !== undefined) throw new RequestRefused(refused)
    yield chunk
  }
}

/** A body that is here already, as chunks. */
export async function* chunksOf(...chunks: Uint8Array[]): AsyncGenerator<Uint8Array> {
  yield* chunks
}

/** `maxBytes`: the limit of bodies here. Where they may be larger, they may also hold more. */
export function parseBytes(bytes: Buffer, maxBytes: number): unknown {
  const text = bytes.toString('utf8')
  // Invalid UTF-8 becomes a replacement character, so only a text that has one needs the exact check.
  if (text.includes('\ufffd') && !isUtf8(bytes)) throw new ProtocolError('PARSE_FAILED', 'The body is not UTF-8.')
  return parseText(text, maxBytes)
}

/** A body that a framework has read before: bytes, or a value that it has parsed. */
export function parseBody(body: unknown, maxBytes: number): unknown {
  if (body instanceof Uint8Array)
    return parseBytes(Buffer.from(body.buffer, body.byteOffset, body.byteLength), maxBytes)
  assertSmall(body, maxItems(maxBytes))
  return body
}

/**
 * Refuses what JSON.parse accepts: nesting so deep that recursive code would overflow the stack, so much that it would
 * take long, and an object with the same key twice, which two parsers can read differently.
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

/** How many members all the objects in a value have; of two with the same key, JSON.parse has kept one. */
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

/** Goes level by level and not by recursion, so that this check cannot overflow the stack itself. */
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
