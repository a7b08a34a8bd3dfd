/** Tasks of the revision 2026-07-28: the extension io.modelcontextprotocol/tasks (SEP-2663). */
import { declaresTasks, isObject, type Json, ProtocolError, TASKS_EXTENSION, toObject } from '../../protocol/index.ts'
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
} from './dialect.ts'
import type { TaskRecord } from '../engine.ts'
import { type TaskView, viewOf } from './view.ts'

export type TaskMethod = (call: Call) => Promise<string>

export function modernTaskMethods(options: DialectOptions): ReadonlyMap<string, TaskMethod> {
  const { host, engine } = options
  return new Map<string, TaskMethod>([
    [
      'tasks/get',
      async (call) => {
        assertDeclared(call)
        const found = await findTask(options, call, taskIdIn(call.params))
        return host.write(modernTask(viewOf(found, call, host), options.pollMs), call.peer)
      },
    ],
    [
      'tasks/update',
      async (call) => {
        assertDeclared(call)
        const id = taskIdIn(call.params)
        const { inputResponses } = call.params
        if (!isObject(inputResponses)) {
          throw new ProtocolError('PARAMS_INVALID', '"params.inputResponses" must be an object.')
        }
        assertKnown(await answerTask(options, call, await findTask(options, call, id), inputResponses))
        return host.write({}, call.peer)
      },
    ],
    [
      'tasks/cancel',
      async (call) => {
        assertDeclared(call)
        assertKnown(await (await engine()).cancel(taskIdIn(call.params), ownerOf(call)))
        return host.write({}, call.peer)
      },
    ],
  ])
}

/** The result of a call that has become a task. */
export function modernCreated(task: TaskRecord, pollMs: number): Json {
  return { resultType: 'task', ...taskFields(task, pollMs) }
}

/** A task in full, as in `tasks/get` and `notifications/tasks`. */
export function modernTask(task: TaskView, pollMs: number): Json {
  switch (task.status) {
    case 'input_required':
      return { ...taskFields(task, pollMs, task.awaits), inputRequests: toObject(task.questions) }
    case 'completed':
      // The result of the original request, which must have `resultType`.
      return { ...taskFields(task, pollMs), result: { resultType: 'complete', ...task.result } }
    case 'failed':
      return { ...taskFields(task, pollMs), error: task.failure }
    case 'working':
    case 'cancelled':
      return taskFields(task, pollMs)
    default:
      return task.status satisfies never
  }
}

export function assertDeclared({ peer }: Call): void {
  if (declaresTasks(peer.capabilities)) return
  throw new ProtocolError('CAPABILITY_MISSING', 'The client must declare the tasks extension to use this method.', {
    requiredCapabilities: { extensions: { [TASKS_EXTENSION]: {} } },
  })
}

function taskFields(task: TaskRecord, pollMs: number, statusMessage = statusMessageOf(task)): Json {
  const { id, status, createdAt, updatedAt, ttlMs } = task
  return {
    taskId: id,
    status,
    ...(statusMessage !== undefined && { statusMessage }),
    createdAt: iso(createdAt),
    lastUpdatedAt: iso(updatedAt),
    ttlMs,
    pollIntervalMs: pollMs,
    ...progressOf(task),
  }
}

function statusMessageOf({ status, statusMessage, failure }: TaskRecord): string | undefined {
  if (status === 'input_required') return undefined // the message is from the run before the question
  return statusMessage ?? failure?.message
}
