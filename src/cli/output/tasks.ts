/** Tasks as text for people. */
import type { InputRequest } from '@modelcontextprotocol/client'
import { plainLine, type Task } from '../../client/index.ts'
import { isObject } from '../../protocol/index.ts'
import { memberLines } from './lists.ts'
import { serverText } from './layout.ts'

const STATUS_WORDS: Readonly<Record<Task['status'], string>> = {
  working: 'working',
  input_required: 'waits for an answer',
  completed: 'done',
  failed: 'failed',
  cancelled: 'cancelled',
}

/** The status of a task in one line. */
export function statusText({
  status,
  statusMessage,
  progress,
}: Pick<Task, 'status' | 'statusMessage' | 'progress'>): string {
  const far = progress === undefined ? '' : ` (${progress.progress}${of(progress.total)})`
  const words = `Task: ${STATUS_WORDS[status]}${status === 'working' ? far : ''}`
  const said = serverReason({ status, statusMessage })
  const awaited = status === 'input_required' ? said?.match(/^It (waits for .*)\.$/)?.[1] : undefined
  if (awaited !== undefined) return `Task: ${awaited}`
  return said === undefined ? words : `${words}, ${said}`
}

/** The server's status message as one plain line; it may name who must answer. */
export function serverReason({
  status,
  statusMessage,
}: {
  readonly status: Task['status']
  readonly statusMessage?: string | undefined
}): string | undefined {
  if (statusMessage === undefined) return undefined
  // In the session era the message may only tell the client how to get the question, and the client does that.
  const isForClient = status === 'input_required' && statusMessage.includes('tasks/result')
  return isForClient ? undefined : plainLine(statusMessage)
}

function of(total: number | undefined): string {
  return total === undefined ? '' : ` of ${total}`
}

/** A task with its questions or its error. Its result is shown as that of a call. */
export function taskText(task: Task): string {
  const { inputRequests = {}, error } = task
  const failure = error === undefined ? [] : [`error ${error.code}: ${serverText(error.message)}`]
  return [statusText(task), ...times(task), ...questionLines(inputRequests), ...failure].join('\n')
}

/** A line for each question, and one for each field of a form. */
export function questionLines(questions: Readonly<Record<string, InputRequest>>): string[] {
  return Object.entries(questions).flatMap(([key, { params }]) => {
    const message = params !== undefined && 'message' in params ? String(params.message) : ''
    const schema: unknown = params !== undefined && 'requestedSchema' in params ? params.requestedSchema : undefined
    return [`  ${plainLine(key, 60)}: ${plainLine(message)}`, ...(isObject(schema) ? memberLines(schema) : [])]
  })
}

function times({ createdAt, lastUpdatedAt, ttlMs }: Task): string[] {
  const life = ttlMs === null ? undefined : `kept for ${Math.round(ttlMs / 1000)} s`
  const facts = [
    createdAt && `made ${plainLine(createdAt)}`,
    lastUpdatedAt && `changed ${plainLine(lastUpdatedAt)}`,
    life,
  ]
  const known = facts.filter((each) => each !== undefined && each !== '')
  return known.length === 0 ? [] : [`  ${known.join(', ')}`]
}
