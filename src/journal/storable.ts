import { JournalError } from './errors.ts'

/** The type of a `T` after it was written as JSON and read back: a Date becomes a string, a function is not allowed. */
export type Stored<T> = unknown extends T
  ? T
  : T extends string | number | boolean | null | undefined | void
    ? T
    : T extends { toJSON(): infer J }
      ? Stored<J>
      : T extends (...args: never[]) => unknown
        ? never
        : T extends object
          ? { [K in keyof T]: Stored<T[K]> }
          : never

/**
 * The value as the journal will give it back. A step returns the same when it runs as when it is replayed: a Date is a
 * string both times. A value that JSON cannot represent is refused when the step runs, not in a later round.
 */
export function storable<T>(key: string, value: T): Stored<T> {
  switch (typeof value) {
    case 'string':
    case 'boolean':
    case 'undefined':
      return value as Stored<T>
    case 'number':
      if (Number.isFinite(value)) return value as Stored<T>
      throw notStorable(key)
    case 'object':
      return (value === null ? value : copy(key, value)) as Stored<T>
    default:
      throw notStorable(key)
  }
}

function copy(key: string, value: unknown): unknown {
  try {
    return JSON.parse(JSON.stringify(value, refuseLoss))
  } catch (cause) {
    throw notStorable(key, cause)
  }
}

/** JSON.stringify omits these or writes them as `{}` without an error. */
function refuseLoss(name: string, value: unknown): unknown {
  const isLost =
    typeof value === 'function' ||
    typeof value === 'symbol' ||
    value instanceof Map ||
    value instanceof Set ||
    value instanceof Error ||
    value instanceof RegExp ||
    value instanceof Promise
  if (isLost) throw new TypeError(`"${name}" has no form in JSON.`)
  return value
}

function notStorable(key: string, cause?: unknown): JournalError {
  return new JournalError(
    'STEP_NOT_STORABLE',
    `The step "${key}" returned a value that JSON cannot represent; return plain data (an id, a record) instead.`,
    { cause },
  )
}
