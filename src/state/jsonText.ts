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
