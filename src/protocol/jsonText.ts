/**
 * JSON that a peer has written. How deep it nests and how many keys and values it has is counted in its text, before it is
 * parsed: deep values overflow the stack of recursive code, and many small ones take seconds and gigabytes to parse.
 */
import { ProtocolError } from './errors.ts'

export const MAX_DEPTH = 128
/** The largest message of a server, over HTTP or from a process. A gateway takes less. */
export const MAX_MESSAGE_BYTES = 64 * 1024 * 1024

// JSON.parse, validators and digests block the event loop for a time in proportion to the number of values and keys.
// With this number it is less than 20 ms (test/blocking).
const MIN_ITEMS = 20_000
/** Maximum digits of a number, and spaces in one place. JSON.parse takes long for a number of many digits. */
const MAX_DIGITS = 10_000
/** Larger texts may hold more, in proportion. */
const BYTES_PER_ITEM = (4 * 1024 * 1024) / MIN_ITEMS

/** How many keys and values a text may hold where texts have at most `maxBytes`. */
export function maxItems(maxBytes: number): number {
  return Math.max(MIN_ITEMS, Math.floor(maxBytes / BYTES_PER_ITEM))
}

/** The value of a JSON text; undefined if the text is not JSON or exceeds `maxBytes`. */
export function parseJson(text: string, maxBytes = MAX_MESSAGE_BYTES): unknown {
  try {
    assertSmallText(text, maxBytes)
    return JSON.parse(text)
  } catch {
    return undefined
  }
}

/** Refuses a text that is too long, nests too deep, or holds too much. It need not be JSON. */
export function assertSmallText(text: string, maxBytes: number): void {
  if (text.length > maxBytes) throw tooMuch(`is longer than ${maxBytes} bytes`)
  // Most texts are short and have too few brackets to exceed a limit. A quick check finds these.
  if (text.length > MIN_ITEMS || !opensFew(text)) countMembers(text, maxItems(maxBytes))
}

function opensFew(text: string): boolean {
  let opened = 0
  for (const bracket of ['{', '['])
    for (let at = text.indexOf(bracket); at >= 0; at = text.indexOf(bracket, at + 1))
      if (++opened > MAX_DEPTH) return false
  return true
}

const QUOTE = 0x22
const COMMA = 0x2c
const COLON = 0x3a
const OPEN_ARRAY = 0x5b
const BACKSLASH = 0x5c
const CLOSE_ARRAY = 0x5d
const OPEN_OBJECT = 0x7b
const CLOSE_OBJECT = 0x7d

/** How many members all the objects of a text have. One pass over it, which refuses more than `most` keys and values. */
export function countMembers(text: string, most: number): number {
  let depth = 0
  let members = 0
  let values = 1
  let digits = 0
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
      default:
        assertShort(++digits)
        continue
    }
    digits = 0
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

export function assertShallow(depth: number): void {
  if (depth > MAX_DEPTH) throw tooMuch(`nests deeper than ${MAX_DEPTH} levels`)
}

function assertShort(digits: number): void {
  if (digits > MAX_DIGITS) throw tooMuch(`has more than ${MAX_DIGITS} digits or spaces in one place`)
}

export function assertFew(items: number, most: number): void {
  if (items > most) throw tooMuch(`has more than ${most} keys and values; send less at once`)
}

function tooMuch(what: string): ProtocolError {
  return new ProtocolError('PARSE_FAILED', `The message ${what}.`)
}
