/** Talking about one task with its server, in the dialect that the server speaks. */
import type { Json } from '../../protocol/index.ts'
import type { Task } from './task.ts'

export interface TaskTalk {
  readonly taskId: string
  /** The task as it is now, with whatever can be told of it without any effect. */
  look(signal: AbortSignal): Promise<Task>
  /** The same for whoever follows it. In a session this may wait for the result, and bring about pushed questions. */
  follow(signal: AbortSignal): Promise<Task>
  answer(inputResponses: Readonly<Record<string, Json>>, signal: AbortSignal): Promise<void>
  cancel(signal: AbortSignal): Promise<void>
}
