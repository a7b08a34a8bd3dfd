import { JournalError } from './errors.ts'

/** What comes back from the journal where `T` went in: a Date is a text, and what has no JSON is gone. */
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
 * The value as it will come back from the journal. A step gives the same thing the first time as when it is replayed,
 * so a Date is a text both times, and what JSON cannot hold is refused at once instead of in a later round.
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

/** JSON.stringify makes an empty object of these, or leaves them out, without a word. */
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
    `The step "${key}" returned something that JSON cannot hold; return plain data (an id, a record) instead.`,
    { cause },
  )
}
