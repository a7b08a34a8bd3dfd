/** Bodies: their limit, and from bytes to one JSON value, refusing what two parsers could read differently. */
import { isUtf8 } from 'node:buffer'
import { ProtocolError } from '../../protocol/index.ts'
import type { HttpReply } from './exchange.ts'
import { RequestRefused, refusal } from './refusal.ts'

/** The largest body or line that is taken unless an option says otherwise, in bytes. */
export const MAX_BODY_BYTES = 4 * 1024 * 1024

/** The reply to a body over the limit. */
export function tooLarge(maxBytes: number): HttpReply {
  return refusal(413, `The body is larger than ${maxBytes} bytes.`)
}

/** The chunks of a body as they come; throws RequestRefused when they are more than the limit. */
export async function* limited(chunks: AsyncIterable<Uint8Array>, maxBytes: number): AsyncGenerator<Uint8Array> {
  let size = 0
  for await (const chunk of chunks) {
    size += chunk.length
    if (size > maxBytes) throw new RequestRefused(tooLarge(maxBytes))
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

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_ARRAY = 0x5b
const BACKSLASH = 0x5c
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

export const MAX_DEPTH = 128
// JSON.parse, validators and digests take their time for each value, and for each key as much again, and the event loop
// stands still meanwhile: for less than 0.1 s with so many of them in a body of the default limit.
const MIN_ITEMS = 20_000
const BYTES_PER_ITEM = MAX_BODY_BYTES / MIN_ITEMS

/** How many keys and values a body may hold. */
function maxItems(maxBytes: number): number {
  return Math.max(MIN_ITEMS, Math.floor(maxBytes / BYTES_PER_ITEM))
}

/** How many members all the objects of a text have. One pass over it, before it is parsed: it need not be JSON. */
function countMembers(text: string, most: number): number {
  let depth = 0
  let members = 0
  let values = 1
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE:
        at = stringEnd(text, at)
        break
      case COLON:
        assertFew(++members + values, most)
        break
      case COMMA:
        assertFew(members + ++values, most)
        break
      case OPEN_OBJECT:
      case OPEN_ARRAY:
        assertFew(members + ++values, most)
        assertShallow(++depth)
        break
      case CLOSE_OBJECT:
      case CLOSE_ARRAY:
        depth--
        break
    }
  }
  return members
}

/** The closing quote of a string that opens at `start`, or the end of the text. */
function stringEnd(text: string, start: number): number {
  const quote = text.indexOf('"', start + 1)
  if (quote < 0) return text.length
  if (text.charCodeAt(quote - 1) !== BACKSLASH) return quote
  let at = start + 1
  while (at < text.length && text.charCodeAt(at) !== QUOTE) at += text.charCodeAt(at) === BACKSLASH ? 2 : 1
  return at
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

function assertShallow(depth: number): void {
  if (depth > MAX_DEPTH) throw new ProtocolError('PARSE_FAILED', `The body nests deeper than ${MAX_DEPTH} levels.`)
}

function assertFew(items: number, most: number): void {
  if (items > most)
    throw new ProtocolError('PARSE_FAILED', `The body has more than ${most} keys and values; send less at once.`)
}
