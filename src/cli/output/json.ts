import { ClientError } from '../../client/index.ts'

/**
 * JSON that is safe on a terminal: control characters and invisible characters are written as `\uXXXX`, which a parser
 * reads as the same text. Nothing is left that `plainText` would change.
 */
export function printableJson(value: unknown): string {
  return written(value).replace(INVISIBLE, (character) =>
    Array.from({ length: character.length }, (_, index) => unicodeEscape(character.charCodeAt(index))).join(''),
  )
}

/** A value from a server may nest too deep for JSON.stringify, or exceed the largest string. */
function written(value: unknown): string {
  try {
    return JSON.stringify(value, null, 2) ?? 'null'
  } catch (cause) {
    throw new ClientError('MESSAGE_UNREADABLE', 'The server gave more than can be shown as JSON.', { cause })
  }
}

// JSON.stringify has escaped characters below U+0020 and lone surrogates. Line feeds here are those of the indentation.
// Variation selectors are part of emoji; a pile of combining marks covers the lines around it.
const INVISIBLE =
  /(?!\n|\ufe0e|\ufe0f)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Bidi_Control}\p{Default_Ignorable_Code_Point}]|(?<=\p{M}{4})\p{M}/gu

function unicodeEscape(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, '0')}`
}
