/**
 * Tasks of the session era: revision 2025-11-25 as published, and SEP-2322 for clients that declared
 * `dev.pannier/rounds`. They differ in `tasks/result` while input is required: the first pushes the questions on the
 * stream of that request and waits for the end, the second returns them at once and takes the answers by
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
} from '../../protocol/index.ts'
import type { Call } from '../../server/index.ts'
import { sortAnswers } from './answers.ts'
import { type DialectOptions, withClientErrors, iso, assertKnown, ownerOf, ownTask, taskIdIn } from './dialect.ts'
import type { TaskRecord } from '../engine.ts'
import { waitForTask } from './waitFor.ts'
import type { TaskMethod } from './modernDialect.ts'
import { type TaskView, viewOf } from './view.ts'
import { pushQuestions, answerCarried } from './pushedQuestions.ts'

const PAGE_SIZE = 100

export function sessionTaskMethods(options: DialectOptions): ReadonlyMap<string, TaskMethod> {
  const { engine, pollMs } = options
  return new Map<string, TaskMethod>([
    [
      'tasks/get',
      async (call) => JSON.stringify(sessionTask(await ownTask(options, call, taskIdIn(call.params)), pollMs, call)),
    ],
    ['tasks/result', (call) => taskResult(options, call)],
    ['tasks/input_response', (call) => inputResponse(options, call)],
    [
      'tasks/cancel',
      async (call) => {
        const id = taskIdIn(call.params)
        if (hasEnded((await ownTask(options, call, id)).status)) throw alreadyEnded()
        const task = assertKnown(await (await engine()).cancel(id, ownerOf(call)))
        if (task.status !== 'cancelled') throw alreadyEnded()
        return JSON.stringify(sessionTask(task, pollMs, call))
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
        const listed = tasks.map((task) => sessionTask(task, pollMs, call))
        return JSON.stringify({ tasks: listed, ...(next !== undefined && { nextCursor: next }) })
      },
    ],
  ])
}

/** The result of a call that has become a task. */
export function sessionCreated(task: TaskRecord, pollMs: number, call: Call): Json {
  const statusMessage = `Task has been created for ${task.tool} tool invocation.`
  return { task: { ...sessionTask(task, pollMs, call), statusMessage } }
}

function sessionTask(task: TaskRecord, pollMs: number, call: Call): Json {
  const { id, createdAt, updatedAt, ttlMs } = task
  const status = sessionStatus(task)
  return {
    taskId: id,
    status,
    statusMessage: statusMessageOf(viewOf(task, call), call.peer.takesInputRequired),
    createdAt: iso(createdAt),
    lastUpdatedAt: iso(updatedAt),
    ttl: ttlMs,
    pollInterval: pollMs,
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
  const engine = await options.engine()
  const found = await ownTask(options, call, id)
  if (call.revived !== undefined) options.host.assertMayCall(call, found.tool) // it brings an answer
  await answerCarried(engine, call, found)
  const disconnect = new AbortController()
  call.channel.onCancel(() => disconnect.abort())
  if (call.channel.cancelled) disconnect.abort()
  // A client that is asked by results gets an empty one where it can answer nothing; others wait for whoever can.
  const until = (task: TaskRecord): boolean => {
    if (task.status !== 'input_required') return hasEnded(task.status)
    return call.peer.takesInputRequired || viewOf(task, call).questions.size > 0
  }
  const carried = { id: call.revived?.id ?? randomUUID(), body: () => ({}) }
  for (;;) {
    const goOn = call.channel.waitAnywhere?.(carried)
    const waiting = waitForTask(engine, { id, owner: ownerOf(call), until, signal: disconnect.signal })
    const task = viewOf(assertKnown(await waiting.finally(goOn)), call)
    if (hasEnded(task.status)) return options.host.write(ended(task), call.peer)
    if (call.peer.takesInputRequired) return options.host.write(asking(task), call.peer)
    options.host.assertMayCall(call, task.tool)
    await pushQuestions(engine, call, task, { carried, signal: disconnect.signal })
  }
}

function asking({ id, questions }: TaskRecord): Json {
  return { resultType: 'input_required', inputRequests: toObject(questions), _meta: relatedTask(id) }
}

/** The result or error that the call would have had without a task. */
function ended({ id, status, result, failure }: TaskRecord): Json {
  if (status === 'completed' && result !== undefined) {
    return { ...result, _meta: { ...(result['_meta'] as Json | undefined), ...relatedTask(id) } }
  }
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
  const task = await ownTask(options, call, id)
  if (task.status !== 'input_required') throw new ProtocolError('PARAMS_INVALID', 'The task has no open questions.')
  options.host.assertMayCall(call, task.tool)
  const answers = sortAnswers(task.questions, inputResponses)
  await withClientErrors((await options.engine()).answer(id, ownerOf(call), answers))
  return JSON.stringify({ _meta: relatedTask(id) })
}

function alreadyEnded(): ProtocolError {
  return new ProtocolError('PARAMS_INVALID', 'The task has already ended, so it cannot be cancelled.')
}
