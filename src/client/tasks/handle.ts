/** The handle of a task in place of a result, in a form that the clients of both SDK versions let through. */
import { isObject, type Json } from '../../protocol/index.ts'
import { readTask, type Task } from './task.ts'

const META_KEY = 'dev.pannier/task'

const NOTE = 'The call goes on as a task; its result is to be had from there.'

/** The result of a call that became a task. What the server said of the task is in it as it came. */
export function handleResult(task: unknown): Json {
  return {
    // An error, so that no reader takes it for what the tool gives, and no output schema is asked for.
    content: [{ type: 'text', text: NOTE }],
    isError: true,
    resultType: 'complete',
    _meta: { [META_KEY]: task },
  }
}

/** The task that a call became, where `tasks({ handle: true })` gave its handle in place of the result. */
export function taskOf(result: unknown): Task | undefined {
  const meta = isObject(result) ? result['_meta'] : undefined
  const task = isObject(meta) ? meta[META_KEY] : undefined
  try {
    return task === undefined ? undefined : readTask(task)
  } catch {
    return undefined // a server wrote it there
  }
}

/** The `_meta` of progress that is the status of a task. */
export function taskMeta(task: Task): Json {
  return { [META_KEY]: task }
}

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
