import { StateError } from './errors.ts'

/**
 * Writes a value as JSON, or says why that cannot be done. Lone surrogates are written as escapes, so every string
 * survives UTF-8. No `cause` is kept: the runtime's message names parts of the value.
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

/** The StateError for what `JSON.stringify` or a walk over a value threw. */
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
