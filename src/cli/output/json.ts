import { ClientError } from '../../client/index.ts'

/**
 * JSON that is safe on a terminal: control characters and invisible characters are written as `\uXXXX`, which a parser
 * reads as the same text.
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
const INVISIBLE = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

function unicodeEscape(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, '0')}`
}
