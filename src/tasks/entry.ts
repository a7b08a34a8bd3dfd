/** Entries: the JSON values that a task store keeps, each of a bounded size. */
import type { AnsweredBy, Approvers } from '../journal/index.ts'
import { isObject, type Json } from '../protocol/index.ts'
import { jsonText, StateError } from '../state/internal.ts'
import type { TaskProgress } from './engine.ts'
import { entryTooLarge, TaskError } from './errors.ts'

/** A question as it is stored: every string is JSON text. */
export interface QuestionText {
  readonly key: string
  readonly question: string | null
  readonly times: number
  readonly request: string
  readonly approvers: string | null
}

/** The JSON text of an entry; `what` names it in the error when it is too large. */
export function entryText(what: string, value: unknown, maxBytes: number): string {
  const text = jsonText(value)
  const bytes = Buffer.byteLength(text)
  if (bytes > maxBytes) throw entryTooLarge(what, bytes, maxBytes)
  return text
}

/** The same for an entry that must be an object; a `toJSON` could turn it into something else. */
export function objectText(what: string, value: unknown, maxBytes: number): string {
  const text = entryText(what, value, maxBytes)
  if (text.startsWith('{')) return text
  throw new StateError('STATE_NOT_JSON', `${what} is not an object once it is written as JSON; check its toJSON.`)
}

/** An optional string as JSON text, or null. */
export function textOrNull(value: string | undefined): string | null {
  return value === undefined ? null : JSON.stringify(value)
}

/** Whether the entry is at fault and not the store, so that a retry would fail as well. */
export function isInvalidEntry(error: unknown): error is StateError | TaskError {
  if (error instanceof TaskError) return error.code === 'TASK_ENTRY_TOO_LARGE'
  return error instanceof StateError && (error.code === 'STATE_NOT_JSON' || error.code === 'STATE_TOO_DEEP')
}

/** Parses the output of `entryText`. */
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

/** Reads progress as `progressText` wrote it. */
export function readProgress(text: unknown): TaskProgress | undefined {
  if (text === null) return undefined
  const { progress, total } = readObject(text)
  if (typeof progress !== 'number') throw unreadable()
  return { progress, ...(typeof total === 'number' && { total }) }
}

export function progressText(progress: TaskProgress | undefined): string | null {
  return progress === undefined ? null : JSON.stringify(progress)
}

/** Reads the approvers of a question as `approversText` wrote them. */
export function readApprovers(text: string): Approvers {
  const { by, fourEyes } = readObject(text)
  if (!Array.isArray(by) || !by.every((each) => typeof each === 'string')) throw unreadable()
  return { by, fourEyes: fourEyes === true }
}

export function approversText(approvers: Approvers | undefined): string | null {
  return approvers === undefined ? null : JSON.stringify(approvers)
}

/** Reads a principal as `answererText` wrote it. */
export function readAnswerer(text: unknown): AnsweredBy {
  const { id, subject, claims } = readObject(text)
  if (typeof id !== 'string' || typeof subject !== 'string' || !isObject(claims)) throw unreadable()
  return { id, subject, claims }
}

export function answererText(answerer: AnsweredBy | undefined, maxBytes: number): string | null {
  return answerer === undefined ? null : entryText('The claims of who answers', answerer, maxBytes)
}

export function unreadable(): StateError {
  const advice = 'restore the store from a backup, or cancel the task; other tasks are not affected'
  return new StateError('STORE_CORRUPT', `The stored data of a task is damaged; ${advice}.`)
}
