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

export function parseBytes(bytes: Buffer): unknown {
  const text = bytes.toString('utf8')
  // Invalid UTF-8 becomes a replacement character, so only a text that has one needs the exact check.
  if (text.includes('\ufffd') && !isUtf8(bytes)) throw new ProtocolError('PARSE_FAILED', 'The body is not UTF-8.')
  return parseText(text)
}

/** A body that a framework has read before: bytes, or a value that it has parsed. */
export function parseBody(body: unknown): unknown {
  if (body instanceof Uint8Array) return parseBytes(Buffer.from(body.buffer, body.byteOffset, body.byteLength))
  assertShallow(body)
  return body
}

export function parseText(text: string): unknown {
  assertPlainJson(text)
  try {
    return JSON.parse(text)
  } catch {
    throw notJson()
  }
}

function notJson(): ProtocolError {
  return new ProtocolError('PARSE_FAILED', 'The body is not JSON.')
}

/** Goes level by level and not by recursion, so that this check cannot overflow the stack itself. */
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

const QUOTE = 0x22
const COMMA = 0x2c
const OPEN_ARRAY = 0x5b
const BACKSLASH = 0x5c
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

export const MAX_DEPTH = 128
// JSON.parse and validators take their time for each value, and the event loop stands still meanwhile: for less than 0.1 s with
// so many of them.
const MAX_VALUES = 40_000

/** The keys of one open object; `undefined` stands for an array. */
type Keys = string[] | undefined

/**
 * Refuses what JSON.parse accepts: an object with the same key twice, which two parsers can read differently, nesting so
 * deep that recursive code would overflow the stack, and so many values that they would take long. One pass over the
 * text, before it is parsed: it need not be JSON.
 */
function assertPlainJson(text: string): void {
  const stack: Keys[] = []
  let keys: Keys
  let expectsKey = false
  let values = 1
  for (let at = 0; at < text.length; at++) {
    switch (text.charCodeAt(at)) {
      case QUOTE: {
        const end = stringEnd(text, at)
        if (expectsKey && keys !== undefined) {
          addKey(keys, text.slice(at + 1, end))
          expectsKey = false
        }
        at = end
        break
      }
      case COMMA:
        if (++values > MAX_VALUES) throw tooMany()
        expectsKey = keys !== undefined
        break
      case OPEN_OBJECT:
      case OPEN_ARRAY:
        if (++values > MAX_VALUES) throw tooMany()
        if (stack.length >= MAX_DEPTH)
          throw new ProtocolError('PARSE_FAILED', `The body nests deeper than ${MAX_DEPTH} levels.`)
        stack.push(keys)
        keys = text.charCodeAt(at) === OPEN_OBJECT ? [] : undefined
        expectsKey = keys !== undefined
        break
      case CLOSE_OBJECT:
      case CLOSE_ARRAY:
        keys = stack.pop()
        expectsKey = false
        break
    }
  }
}

function tooMany(): ProtocolError {
  return new ProtocolError('PARSE_FAILED', `The body holds more than ${MAX_VALUES} values.`)
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

const FEW = 16

function addKey(keys: string[], written: string): void {
  const key = written.includes('\\') ? unescaped(written) : written
  if (keys.length < FEW ? keys.includes(key) : hasKey(keys, key)) {
    throw new ProtocolError('PARSE_FAILED', 'The body has an object with the same key twice.')
  }
  keys.push(key)
}

function unescaped(written: string): string {
  try {
    return JSON.parse(`"${written}"`) as string
  } catch {
    throw notJson()
  }
}

const sets = new WeakMap<string[], Set<string>>()

/** For objects with many keys: a set beside the list, because to search the list would be quadratic. */
function hasKey(keys: string[], key: string): boolean {
  let set = sets.get(keys)
  if (set === undefined) {
    set = new Set(keys)
    sets.set(keys, set)
  }
  const known = set.has(key)
  set.add(key)
  return known
}
