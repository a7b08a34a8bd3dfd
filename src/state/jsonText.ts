import { StateError } from './errors.ts'

/**
 * Writes a value as JSON, or throws a StateError that says why this is not possible. Lone surrogates are written as
 * escapes, so that UTF-8 changes no string. The error has no `cause`: the runtime's message quotes parts of the value.
 */
export function jsonText(value: unknown): string {
  const text = stringify(value)
  if (text !== undefined) return text
  throw new StateError('STATE_NOT_JSON', 'The value has no JSON form (undefined, a function or a symbol); use null.')
}

function stringify(value: unknown): string | undefined {
  try {
    return JSON.stringify(value)
  } catch (error) {
    throw notWritable(error)
  }
}

/** The StateError for an error that `JSON.stringify`, or a function that walks through a value, threw. */
export function notWritable(error: unknown): StateError {
  if (error instanceof StateError) return error
  if (error instanceof RangeError) {
    return new StateError('STATE_TOO_DEEP', 'The value is nested too deeply or too long to be written as JSON.')
  }
  return new StateError(
    'STATE_NOT_JSON',
    'The value is not plain JSON; look for a cycle, a bigint or a throwing toJSON.',
  )
}

/** Parses JSON text of a store; `damaged` is the sentence of the error. It has no `cause`: the parser's message quotes the text. */
export function parseStored(text: string, damaged: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    throw new StateError('STORE_CORRUPT', damaged)
  }
}

/**
 * Escapes what could steer a terminal or hide in it, in JSON text and in names: control characters, characters that
 * turn the writing direction, and invisible ones become `\uXXXX`. A JSON parser reads the same text. Line feeds stay:
 * `JSON.stringify` has escaped those inside of strings.
 */
export function escapeUnprintable(text: string): string {
  if (PRINTABLE.test(text)) return text
  return text.replace(UNPRINTABLE, (character) =>
    Array.from({ length: character.length }, (_, index) => unicodeEscape(character.charCodeAt(index))).join(''),
  )
}

/** The usual text, which is written in a fraction of the time. */
const PRINTABLE = /^[\x20-\x7e\n]*$/
// Variation selectors are part of emoji; a pile of combining marks covers the lines around it.
const UNPRINTABLE =
  /(?!\n|\ufe0e|\ufe0f)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}]|(?<=\p{M}{4})\p{M}/gu

function unicodeEscape(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, '0')}`
}
