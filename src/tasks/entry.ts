/** What a task keeps is JSON, of a bounded size. */
import { isObject, type Json } from '../protocol/index.ts'
import { jsonText, StateError } from '../state/internal.ts'
import { entryTooLarge, TaskError } from './errors.ts'

/** The JSON of something that is to be kept; `what` names it where it does not fit. */
export function entryText(what: string, value: unknown, maxBytes: number): string {
  const text = jsonText(value)
  const bytes = Buffer.byteLength(text)
  if (bytes > maxBytes) throw entryTooLarge(what, bytes, maxBytes)
  return text
}

/** The same for what has to be an object, which a `toJSON` may deny. */
export function objectText(what: string, value: unknown, maxBytes: number): string {
  const text = entryText(what, value, maxBytes)
  if (text.startsWith('{')) return text
  throw new StateError('STATE_NOT_JSON', `${what} is no object when it is written as JSON; look for a toJSON.`)
}

/** Whether what was to be kept is at fault, and not the store: it cannot be kept the next time either. */
export function isInvalidEntry(error: unknown): error is StateError | TaskError {
  if (error instanceof TaskError) return error.code === 'TASK_ENTRY_TOO_LARGE'
  return error instanceof StateError && (error.code === 'STATE_NOT_JSON' || error.code === 'STATE_TOO_DEEP')
}

/** Reads what `entryText` wrote. */
export function readEntry(text: unknown): unknown {
  if (typeof text !== 'string') throw unreadable()
  try {
    return JSON.parse(text)
  } catch {
    // No cause: the parser's message would quote the entry.
    throw unreadable()
  }
}

export function readObject(text: unknown): Json {
  const value = readEntry(text)
  if (isObject(value)) return value
  throw unreadable()
}

export function readString(text: unknown): string {
  const value = readEntry(text)
  if (typeof value === 'string') return value
  throw unreadable()
}

export function unreadable(): StateError {
  const advice = 'restore the store from a backup, or cancel the task; other tasks are not affected'
  return new StateError('STORE_CORRUPT', `What is stored of a task is damaged; ${advice}.`)
}
