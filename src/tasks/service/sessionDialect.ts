/**
 * Tasks of the session era: revision 2025-11-25 as published, and SEP-2322 for clients that declared
 * `dev.pannier/rounds`. They differ in `tasks/result` while input is required: the first pushes the questions on the
 * stream of that request and waits for the end; the second returns them at once and takes the answers by
 * `tasks/input_response`.
 */
import { randomUUID } from 'node:crypto'
import {
  CODES,
  hasEnded,
  isObject,
  type Json,
  ProtocolError,
  readRelatedTask,
  relatedTask,
  TaskFailed,
  toObject,
  withRelatedTask,
} from '../../protocol/index.ts'
import type { Call } from '../../server/index.ts'
import {
  answerTask,
  assertKnown,
  type DialectOptions,
  findTask,
  iso,
  ownerOf,
  progressOf,
  taskIdIn,
  withClientErrors,
} from './dialect.ts'
import type { TaskRecord } from '../engine.ts'
import { waitForTask } from './waitFor.ts'
import type { TaskMethod } from './modernDialect.ts'
import { answerableBy, type TaskView, type Viewer, viewOf } from './view.ts'
import { pushQuestions, answerCarried } from './pushedQuestions.ts'

const PAGE_SIZE = 100

export function sessionTaskMethods(options: DialectOptions): ReadonlyMap<string, TaskMethod> {
  const { host, engine, pollMs } = options
  return new Map<string, TaskMethod>([
    [
      'tasks/get',
      async (call) => {
        const found = await findTask(options, call, taskIdIn(call.params))
        return JSON.stringify(sessionTask(viewOf(found, call, host), pollMs, call))
      },
    ],
    ['tasks/result', (call) => taskResult(options, call)],
    ['tasks/input_response', (call) => inputResponse(options, call)],
    [
      'tasks/cancel',
      async (call) => {
        const id = taskIdIn(call.params)
        const store = await engine()
        if (hasEnded(assertKnown(await store.read(id, ownerOf(call))).status)) throw alreadyEnded()
        const task = assertKnown(await store.cancel(id, ownerOf(call)))
        if (task.status !== 'cancelled') throw alreadyEnded()
        return JSON.stringify(sessionTask(viewOf({ task, isOwner: true }, call, host), pollMs, call))
      },
    ],
    [
      'tasks/list',
      async (call) => {
        const { cursor } = call.params
        if (cursor !== undefined && typeof cursor !== 'string') {
          throw new ProtocolError('PARAMS_INVALID', '"params.cursor" must be the nextCursor of an earlier page.')
        }
        const { tasks, next } = await withClientErrors(
          (await engine()).list(ownerOf(call), cursor || undefined, PAGE_SIZE),
        )
        const views = tasks.map((task) => viewOf({ task, isOwner: true }, call, host))
        const listed = views.map((view) => sessionTask(view, pollMs, call))
        return JSON.stringify({ tasks: listed, ...(next !== undefined && { nextCursor: next }) })
      },
    ],
  ])
}

/** The result of a call that has become a task. */
export function sessionCreated(task: TaskView, pollMs: number, call: Call): Json {
  const statusMessage = `Task has been created for ${task.tool} tool invocation.`
  return { task: { ...sessionTask(task, pollMs, call), statusMessage } }
}

function sessionTask(task: TaskView, pollMs: number, call: Call): Json {
  const { id, createdAt, updatedAt, ttlMs } = task
  const status = sessionStatus(task)
  return {
    taskId: id,
    status,
    statusMessage: statusMessageOf(task, call.peer.takesInputRequired),
    createdAt: iso(createdAt),
    lastUpdatedAt: iso(updatedAt),
    ttl: ttlMs,
    pollInterval: pollMs,
    ...progressOf(task),
  }
}

/** In this era a task whose result has `isError` counts as failed. */
function sessionStatus({ status, result }: TaskRecord): TaskRecord['status'] {
  return status === 'completed' && result?.['isError'] === true ? 'failed' : status
}

function statusMessageOf(task: TaskView, rounds: boolean): string | undefined {
  switch (sessionStatus(task)) {
    case 'input_required':
      if (task.questions.size === 0) return task.awaits
      return rounds ? 'Input Required to Proceed call tasks/result' : 'Input is required; call tasks/result.'
    case 'completed':
      return task.statusMessage ?? 'Task has been completed successfully, call tasks/result'
    case 'failed':
      return task.statusMessage ?? task.failure?.message ?? 'Task has failed, call tasks/result'
    default:
      return task.statusMessage
  }
}

async function taskResult(options: DialectOptions, call: Call): Promise<string> {
  const id = taskIdIn(call.params)
  const { host } = options
  const engine = await options.engine()
  const found = await findTask(options, call, id)
  await answerCarried(options, call, found)
  const disconnect = new AbortController()
  call.channel.onCancel(() => disconnect.abort())
  if (call.channel.cancelled) disconnect.abort()
  const { isOwner } = found
  const read = isOwner ? () => engine.read(id, ownerOf(call)) : () => engine.awaiting(id)
  const view = (task: TaskRecord): TaskView => viewOf({ task, isOwner }, call, host)
  // A client that is asked by results gets an empty result if it can answer nothing; others wait for the approvers.
  const until = (task: TaskRecord): boolean => {
    if (task.status !== 'input_required') return hasEnded(task.status)
    return !isOwner || call.peer.takesInputRequired || view(task).questions.size > 0
  }
  const carried = { id: call.resumed?.id ?? randomUUID(), body: () => ({}) }
  for (;;) {
    const endWait = call.channel.waitAnywhere?.(carried)
    const now = await waitForTask(engine, { id, read, until, signal: disconnect.signal }).finally(endWait)
    if (!isOwner && (now === undefined || view(now).questions.size === 0)) return host.write(answerTaken(id), call.peer)
    const task = view(assertKnown(now))
    if (hasEnded(task.status)) return host.write(ended(task), call.peer)
    if (call.peer.takesInputRequired) return host.write(asking(task), call.peer)
    if (isOwner) host.assertMayCall(call, task.tool)
    const asked = { task: assertKnown(now), isOwner }
    const answer = (responses: Json) => answerTask(options, call, asked, responses)
    const mayAnswer = (key: string, answerer: Viewer): boolean => answerableBy(asked, answerer, host).has(key)
    await pushQuestions(engine, call, task, { answer, mayAnswer, read, carried, signal: disconnect.signal })
  }
}

/** The result for approvers who do not own the task: only its owner gets the outcome. */
function answerTaken(id: string): Json {
  const text = 'There is nothing more to answer; the result of the task goes to its owner.'
  return { content: [{ type: 'text', text }], _meta: relatedTask(id) }
}

function asking(task: TaskRecord): Json {
  const inputRequests = Array.from(wireKeysOf(task), ([key, wireKey]) => [key, task.questions.get(wireKey)] as const)
  return {
    resultType: 'input_required',
    inputRequests: toObject(new Map(inputRequests)),
    _meta: relatedTask(task.id),
  }
}

/**
 * The open questions, by the handler's keys. SEP-2322 asks again under the same key; SEP-2663, which the stateless era
 * follows, does not allow that.
 */
function wireKeysOf({ questions, handlerKeys }: TaskRecord): ReadonlyMap<string, string> {
  return new Map(Array.from(questions.keys(), (wireKey) => [handlerKeys?.get(wireKey) ?? wireKey, wireKey]))
}

/** Converts answers under the handler's keys into answers to the open questions. */
function toWireKeys(task: TaskRecord, responses: Json): Json {
  const wireKeys = wireKeysOf(task)
  return toObject(new Map(Object.entries(responses).map(([key, response]) => [wireKeys.get(key) ?? key, response])))
}

/** The result or error that the call would have had without a task. */
function ended({ id, status, result, failure }: TaskRecord): Json {
  if (status === 'completed' && result !== undefined) return withRelatedTask(result, id)
  throw new TaskFailed(failure ?? { code: CODES.INTERNAL_ERROR, message: 'The task was cancelled.' })
}

async function inputResponse(options: DialectOptions, call: Call): Promise<string> {
  const id = readRelatedTask(call.meta)
  const { inputResponses } = call.params
  if (id === undefined) {
    throw new ProtocolError('PARAMS_INVALID', '"params._meta" must name the related task.')
  }
  if (!isObject(inputResponses)) {
    throw new ProtocolError('PARAMS_INVALID', '"params.inputResponses" must be an object.')
  }
  const found = await findTask(options, call, id)
  if (found.task.status !== 'input_required')
    throw new ProtocolError('PARAMS_INVALID', 'The task has no open questions.')
  await answerTask(options, call, found, toWireKeys(found.task, inputResponses))
  return JSON.stringify({ _meta: relatedTask(id) })
}

function alreadyEnded(): ProtocolError {
  return new ProtocolError('PARAMS_INVALID', 'The task has already ended, so it cannot be cancelled.')
}
