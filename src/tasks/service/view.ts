/**
 * A task as one caller may see and answer it.
 *
 * - Its owner sees all of it. Whoever else may answer an open question, because the question names them, sees that
 *   question and the bare status, as long as it is open. To everybody else the task does not exist.
 * - A client is sent only questions that it declares (MRTR). The others wait for a client that has declared them.
 */
import type { InputRequest } from '@modelcontextprotocol/client'
import { declaresAll, type Json, neededCapability, ProtocolError } from '../../protocol/index.ts'
import type { Call, TaskHost } from '../../server/index.ts'
import type { TaskRecord } from '../engine.ts'

/** A task that a caller may see. */
export interface FoundTask {
  readonly task: TaskRecord
  /** Whether the caller made it. If not, the caller may answer a question of it. */
  readonly isOwner: boolean
}

export interface TaskView extends TaskRecord {
  /** What the task waits for beside the questions that are shown; undefined when that is all. */
  readonly awaits: string | undefined
}

export type Viewer = Pick<Call, 'peer' | 'principal'>
type AnswerRule = Pick<TaskHost, 'mayAnswer'>

export function viewOf(found: FoundTask, viewer: Viewer, host: AnswerRule): TaskView {
  const { task, isOwner } = found
  const answerable = answerableBy(found, viewer, host)
  const shown = new Map<string, InputRequest>()
  const missing = new Set<string>()
  for (const [key, request] of answerable) {
    const needed = neededCapability(request)
    if (declaresAll(viewer.peer.capabilities, needed)) shown.set(key, request)
    else for (const name of Object.keys(needed)) missing.add(name)
  }
  const awaited = [
    ...(isOwner ? approversBeside(task, answerable) : []),
    ...(missing.size === 0 ? [] : [`an answer from a client that declares: ${[...missing].join(', ')}`]),
  ]
  return {
    ...task,
    questions: shown,
    awaits: awaited.length === 0 ? undefined : `It waits for ${awaited.join(', and ')}.`,
  }
}

/** The open questions that this caller may answer. */
export function answerableBy(
  { task, isOwner }: FoundTask,
  viewer: Viewer,
  host: AnswerRule,
): ReadonlyMap<string, InputRequest> {
  if (isOwner && task.approvers.size === 0) return task.questions
  return new Map(
    [...task.questions].filter(([key]) => {
      const approvers = task.approvers.get(key)
      return approvers === undefined ? isOwner : host.mayAnswer(approvers, viewer, isOwner)
    }),
  )
}

/** Throws when the owner answers a question that others have to answer. */
export function assertAnswerable(task: TaskRecord, answerable: ReadonlyMap<string, unknown>, responses: Json): void {
  for (const [key, { by }] of task.approvers) {
    if (answerable.has(key) || !Object.hasOwn(responses, key)) continue
    throw new ProtocolError('PARAMS_INVALID', `Only ${by.join(' or ')} may answer "${key}", and not this caller.`)
  }
}

function approversBeside({ approvers }: TaskRecord, answerable: ReadonlyMap<string, unknown>): string[] {
  return Array.from(approvers)
    .filter(([key]) => !answerable.has(key))
    .map(([, { by }]) => by.join(' or '))
}
