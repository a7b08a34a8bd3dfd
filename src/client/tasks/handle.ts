/**
 * The two forms in which a host holds a task: its handle, which is a result that the clients of both SDK versions accept,
 * and its ticket, which is a `requestState`.
 */
import { isObject, type Json } from '../../protocol/index.ts'
import { readTask, type Task } from './task.ts'

const TASK_META = 'dev.pannier/task'

const HANDLE_NOTE = 'The call continues as a task; the result is read from the task.'

/** The handle of a task, as the result of its call. The task is in it exactly as the server sent it. */
export function handleResult(task: unknown): Json {
  return {
    // `isError`, so that no reader takes it for the tool's result, and the SDK does not check it against an output schema.
    content: [{ type: 'text', text: HANDLE_NOTE }],
    isError: true,
    resultType: 'complete',
    _meta: { [TASK_META]: task },
  }
}

/** The task in a handle, where `tasks({ handle: true })` answered the call with one. */
export function taskOf(result: unknown): Task | undefined {
  const meta = isObject(result) ? result['_meta'] : undefined
  const task = isObject(meta) ? meta[TASK_META] : undefined
  try {
    return task === undefined ? undefined : readTask(task)
  } catch {
    return undefined // a server wrote it there
  }
}

/** The `_meta` of a progress notification with the status of a task. */
export function taskMeta(task: Task): Json {
  return { [TASK_META]: task }
}

/**
 * A task as the `requestState` of a call. A call that brings a ticket continues with the task, and sends it the answers that
 * the call brings: the next round of the same caller, a saved call that is resumed in another process, or `watchTask`.
 * The layer takes the ticket out of the request, so no server sees one. Without the layer the server refuses the state.
 */
export interface Ticket {
  readonly taskId: string
  /** Whether the call only watches the task: giving the call up then does not cancel the task. */
  readonly isWatch: boolean
}

const CALL_PREFIX = 'pannier-task:'
const WATCH_PREFIX = 'pannier-task-watch:'

export function ticketText({ taskId, isWatch }: Ticket): string {
  return `${isWatch ? WATCH_PREFIX : CALL_PREFIX}${taskId}`
}

export function readTicket(requestState: unknown): Ticket | undefined {
  if (typeof requestState !== 'string') return undefined
  if (requestState.startsWith(CALL_PREFIX)) return { taskId: requestState.slice(CALL_PREFIX.length), isWatch: false }
  if (requestState.startsWith(WATCH_PREFIX)) return { taskId: requestState.slice(WATCH_PREFIX.length), isWatch: true }
  return undefined
}
