import { JournalError } from './errors.ts'

/**
 * The value as it will come back from the journal. A step gives the same thing the first time as when it is replayed,
 * so a Date is a string both times, and what JSON cannot hold is refused at once instead of in a later round.
 */
export function storable<T>(key: string, value: T): T {
  switch (typeof value) {
    case 'string':
    case 'boolean':
    case 'undefined':
      return value
    case 'number':
      if (Number.isFinite(value)) return value
      throw notStorable(key)
    case 'object':
      return value === null ? value : copy(key, value)
    default:
      throw notStorable(key)
  }
}

function copy<T>(key: string, value: T): T {
  try {
    return JSON.parse(JSON.stringify(value)) as T
  } catch (cause) {
    throw notStorable(key, cause)
  }
}

function notStorable(key: string, cause?: unknown): JournalError {
  return new JournalError(
    'STEP_NOT_STORABLE',
    `The step "${key}" returned something that JSON cannot hold; return plain data (an id, a record) instead.`,
    { cause },
  )
}
