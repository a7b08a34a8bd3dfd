/** Pushes the questions of a task on the stream of a `tasks/result` request, as revision 2025-11-25 has it. */
import { isObject, type Json, ProtocolError, questionOfTask } from '../../protocol/index.ts'
import type { Call } from '../../server/index.ts'
import { answerTask, type DialectOptions } from './dialect.ts'
import type { TaskEngine, TaskRecord } from '../engine.ts'
import type { FoundTask, Viewer } from './view.ts'
import { waitForTask } from './waitFor.ts'

/** Takes the answer that a resumed request brings to an instance other than the one that asked. */
export async function answerCarried(options: DialectOptions, call: Call, found: FoundTask): Promise<void> {
  const { inputResponses } = call.params
  if (call.resumed === undefined || !isObject(inputResponses)) return
  await answerTask(options, call, found, inputResponses)
}

export interface PushOptions {
  /** Stores one answer. */
  readonly answer: (responses: Json) => Promise<unknown>
  /** Whether this caller may answer the question with this key. */
  readonly mayAnswer: (key: string, answerer: Viewer) => boolean
  readonly read: () => Promise<TaskRecord | undefined>
  /** The request whose stream carries the questions. */
  readonly carried: { readonly id: string; readonly body: () => unknown }
  readonly signal: AbortSignal
}

/** Resolves when these questions are answered, by this client or through another request. */
export async function pushQuestions(
  engine: TaskEngine,
  call: Call,
  task: TaskRecord,
  { answer, mayAnswer, read, carried, signal }: PushOptions,
): Promise<void> {
  const { channel } = call
  if (channel.push === undefined) {
    throw new ProtocolError('MESSAGE_INVALID', 'The server cannot send questions on this connection.')
  }
  const answered = Array.from(task.questions, async ([key, request]) => {
    const asking = { ...carried, key, mayAnswer: (answerer: Viewer) => mayAnswer(key, answerer) }
    const response = await channel.push?.(questionOfTask(request, task.id), asking)
    await answer({ [key]: response })
  })
  const moved = new AbortController()
  const elsewhere = waitForTask(engine, {
    id: task.id,
    read,
    until: ({ questions }) => [...task.questions.keys()].every((key) => !questions.has(key)),
    signal: AbortSignal.any([signal, moved.signal]),
  })
  try {
    await Promise.race([Promise.all(answered), elsewhere])
  } finally {
    moved.abort()
    for (const answer of answered) answer.catch(() => {}) // the task no longer waits for these
  }
}
