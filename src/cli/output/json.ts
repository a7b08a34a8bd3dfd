import { ClientError } from '../../client/index.ts'
import { escapeUnprintable } from '../../state/internal.ts'

/** JSON that is safe on a terminal: nothing is left that `plainText` would change. */
export function printableJson(value: unknown): string {
  return escapeUnprintable(written(value))
}

/** A value from a server may nest too deep for JSON.stringify, or exceed the largest string. */
function written(value: unknown): string {
  try {
    return JSON.stringify(value, null, 2) ?? 'null'
  } catch (cause) {
    throw new ClientError('MESSAGE_UNREADABLE', 'The server gave more than can be shown as JSON.', { cause })
  }
}

/** A result: JSON for programs where that is asked for, else text for people. */
export function resultAs(isJson: boolean | undefined, data: unknown, text: () => string): string {
  return isJson ? printableJson(data) : text()
}
