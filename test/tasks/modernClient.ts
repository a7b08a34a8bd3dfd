/** A client of the stateless revision that takes tasks, message by message. */
import { setTimeout as sleep } from 'node:timers/promises'
import { post, type Received, type Sent, type Wire } from '../wire/modernClient.ts'

export const TASKS = 'io.modelcontextprotocol/tasks'
export const TAKES_TASKS = { elicitation: {}, sampling: {}, extensions: { [TASKS]: {} } }

export class TaskCaller {
  /** Where the next request goes; a test may send each to another instance. */
  url: string
  readonly #sent: Sent

  constructor(url: string, sent: Sent = {}) {
    this.url = url
    this.#sent = { capabilities: TAKES_TASKS, ...sent }
  }

  send(method: string, params: Record<string, unknown>): Promise<Received> {
    return post(this.url, { ...this.#sent, method, params })
  }

  async call(name: string, args: Record<string, unknown> = {}, more: Record<string, unknown> = {}): Promise<Wire> {
    const { message } = await this.send('tools/call', { name, arguments: args, ...more })
    return message.result ?? message.error
  }

  /** Makes a task; gives its id. */
  async create(name: string, args: Record<string, unknown> = {}): Promise<string> {
    const { taskId } = await this.call(name, args)
    if (typeof taskId !== 'string') throw new Error(`"${name}" made no task.`)
    return taskId
  }

  async get(taskId: string): Promise<Wire> {
    const { message } = await this.send('tasks/get', { taskId })
    return message.result ?? message.error
  }

  async update(taskId: string, inputResponses: unknown): Promise<Wire> {
    const { message } = await this.send('tasks/update', { taskId, inputResponses })
    return message.result ?? message.error
  }

  async cancel(taskId: string): Promise<Wire> {
    const { message } = await this.send('tasks/cancel', { taskId })
    return message.result ?? message.error
  }

  /** The task once it is no longer at work, or has the wanted status. */
  async until(taskId: string, status?: string): Promise<Wire> {
    for (;;) {
      const task = await this.get(taskId)
      if (status === undefined ? task.status !== 'working' : task.status === status) return task
      await sleep(5)
    }
  }
}

export function accept(content: Record<string, unknown>): object {
  return { action: 'accept', content }
}
