/** Telling from an answer whether a call became a task. */
import { isObject } from '../../protocol/index.ts'
import { ClientError } from '../errors.ts'
import { invalid } from './task.ts'
import { readTicket } from './ticket.ts'

/** A task in place of a result, as the revision 2026-07-28 has it. */
export function isCreated(result: unknown): boolean {
  return isObject(result) && result['resultType'] === 'task'
}

/** The task that a call was answered with; in a session only one that it asked for. */
export function createdBy(result: unknown, asksForTask: boolean): unknown {
  if (isCreated(result)) return result
  return asksForTask && isObject(result) && isObject(result['task']) ? result['task'] : undefined
}

/** Why an answer that is no task cannot be given to the caller either. */
export function problemIn(result: unknown): ClientError | undefined {
  const isForged = isObject(result) && readTicket(result['requestState']) !== undefined
  if (!isForged) return undefined
  const sentence = 'The server asked for input in a way that cannot be read: its state is one of this client.'
  return new ClientError('INPUT_INVALID', sentence)
}

/** SEP-2663: only a call of a tool becomes a task. */
export function strayTask(): ClientError {
  return invalid('it came in place of a result that is never a task')
}
