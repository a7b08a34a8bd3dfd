/**
 * A task to go on with, as the `requestState` of a call. Whoever sends a call with it, and with answers where there are
 * any, goes on with the task: today's caller, or one who resumes a saved call in another process, or looks on. The
 * layer takes it from the request, and no server ever sees one. Where there is no such layer the server refuses it.
 */
export interface Ticket {
  readonly taskId: string
  /** Whether the call only looks on: to give it up does not cancel the task. */
  readonly isWatch: boolean
}

const CALL = 'pannier-task:'
const WATCH = 'pannier-task-watch:'

export function ticketText({ taskId, isWatch }: Ticket): string {
  return `${isWatch ? WATCH : CALL}${taskId}`
}

export function readTicket(requestState: unknown): Ticket | undefined {
  if (typeof requestState !== 'string') return undefined
  if (requestState.startsWith(CALL)) return { taskId: requestState.slice(CALL.length), isWatch: false }
  return requestState.startsWith(WATCH) ? { taskId: requestState.slice(WATCH.length), isWatch: true } : undefined
}
