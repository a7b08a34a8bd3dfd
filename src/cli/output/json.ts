import { ClientError } from '../../client/index.ts'

/**
 * JSON for programs that also may land on a terminal: what could steer one, and what cannot be seen, is written as
 * `\uXXXX`. To whoever parses it, it is the same.
 */
export function jsonText(value: unknown): string {
  return written(value).replace(UNSEEN, (character) =>
    Array.from({ length: character.length }, (_, index) => escaped(character.charCodeAt(index))).join(''),
  )
}

/** What a server gives may nest deeper than it can be written, or be longer than a text can be. */
function written(value: unknown): string {
  try {
    return JSON.stringify(value, null, 2) ?? 'null'
  } catch (cause) {
    throw new ClientError('MESSAGE_UNREADABLE', 'The server gave more than can be shown as JSON.', { cause })
  }
}

// JSON.stringify has escaped everything below a space, and lone surrogates. Line ends here are those of the layout.
const UNSEEN = /(?!\n)[\p{Cc}\p{Cf}\p{Zl}\p{Zp}]/gu

function escaped(unit: number): string {
  return `\\u${unit.toString(16).padStart(4, '0')}`
}
