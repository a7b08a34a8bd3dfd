/**
 * A task as one caller may see and answer it.
 *
 * - Its owner sees everything. The approvers that an open question names see that question and the bare status, while
 *   the question is open. For all others the task does not exist.
 * - A client gets only questions that it declares (MRTR). Other questions wait for a client that has declared them.
 */
import type { InputRequest } from '@modelcontextprotocol/client'
import {
  answersInShape,
  capabilityNames,
  declaresAll,
  isObject,
  type Json,
  neededCapability,
  ProtocolError,
} from '../../protocol/index.ts'
import type { Call, TaskHost } from '../../server/index.ts'
import type { TaskAnswers, TaskRecord } from '../engine.ts'

/** A task that a caller may see. */
export interface FoundTask {
  readonly task: TaskRecord
  /** Whether the caller created the task. Otherwise the caller may answer one of its questions. */
  readonly isOwner: boolean
}

export interface TaskView extends TaskRecord {
  /** A description of other things that the task waits for, beside the shown questions; undefined if there are none. */
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
    else missing.add(capabilityNames(needed))
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

/** Throws when the owner answers a question that is for others. */
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

/**
 * Separates malformed answers, which are refused before any handler runs. The run then validates the others against the
 * schema of its handler.
 */
export function sortAnswers(questions: ReadonlyMap<string, InputRequest>, responses: Json): TaskAnswers {
  const accepted = new Map<string, Json>()
  const refused = new Set<string>()
  for (const [key, request] of questions) {
    if (!Object.hasOwn(responses, key)) continue
    const response = responses[key]
    if (answersInShape(request, response) && fitsForm(request, response)) accepted.set(key, response)
    else refused.add(key)
  }
  return { accepted, refused }
}

/** Whether an accepted form has its required fields, and every field the right type. */
function fitsForm(request: InputRequest, { action, content }: Json): boolean {
  if (request.method !== 'elicitation/create' || request.params.mode === 'url' || action !== 'accept') return true
  if (!isObject(content)) return false
  // A handler in explicit style writes its requests itself and may omit optional members.
  const { properties = {}, required = [] } = (request.params.requestedSchema ?? {}) as Partial<FormSchema>
  const hasRequired = required.every((name) => Object.hasOwn(content, name))
  return hasRequired && Object.entries(properties).every(([name, field]) => fitsField(field, ownMember(content, name)))
}

interface FormSchema {
  readonly properties: Json
  readonly required: readonly string[]
}

function fitsField(field: unknown, value: unknown): boolean {
  if (value === undefined || !isObject(field)) return true
  switch (field['type']) {
    case 'string':
      return typeof value === 'string' && isChoice(field, value)
    case 'number':
      return typeof value === 'number'
    case 'integer':
      return Number.isInteger(value)
    case 'boolean':
      return typeof value === 'boolean'
    case 'array':
      return Array.isArray(value)
    default:
      return true
  }
}

function isChoice({ enum: choices }: Json, value: string): boolean {
  return !Array.isArray(choices) || choices.includes(value)
}

function ownMember(content: Json, name: string): unknown {
  return Object.hasOwn(content, name) ? content[name] : undefined
}
