/**
 * A client that has jobs done by whichever instance is up. It knows what must be true of a task at every look:
 *
 * - a question is asked once: an answer that was acknowledged, or was not but took, is never asked for again;
 * - what was done before a question stays as the question told it;
 * - time does not go backwards;
 * - a task that has ended stays as it is.
 */
import { expect } from 'vitest'
import { post, type Wire } from '../../wire/modernClient.ts'
import { accept, TAKES_TASKS } from '../modernClient.ts'
import type { Job } from './build.ts'
import type { Scene } from './scene.ts'

export interface CustomerOptions {
  /** Where instances listen at the moment. */
  readonly urls: () => readonly string[]
  /** Whether an instance may say that it could not: one that is held up loses its transactions. @default false */
  readonly forgives?: boolean
  readonly pollMs?: number
}

export interface Done {
  readonly job: Job
  readonly taskId: string
  /** As it was when its end was first seen. */
  readonly task: Wire
  readonly text: string
  /** The result, if all went well. */
  readonly wanted: string
}

/** What a job's questions are answered with. */
const ANSWERS: Readonly<Record<string, (job: string) => Record<string, unknown>>> = {
  material: () => ({ material: 'oak' }),
  size: (job) => ({ size: job.length }),
  colour: (job) => ({ colour: `the colour of ${job}` }),
}

// One that is frozen answers nothing. What takes longer on a busy machine may be sent twice.
const PATIENCE_MS = 2500

export class Customer {
  readonly #scene: Scene
  readonly #urls: () => readonly string[]
  readonly #forgives: boolean
  readonly #pollMs: number

  constructor(scene: Scene, { urls, forgives = false, pollMs = 200 }: CustomerOptions) {
    this.#scene = scene
    this.#urls = urls
    this.#forgives = forgives
    this.#pollMs = pollMs
  }

  /** Has a job done by a tool that takes orders, to the end. */
  async have(job: Job, tool = 'order'): Promise<Done> {
    return this.finish(job, await this.order(job, tool))
  }

  /** A call that asks, and becomes a task when it is answered: sent again, it gives the same task. */
  async order(job: Job, tool = 'order'): Promise<string> {
    const call = { name: tool, arguments: job }
    const { requestState } = await this.send('tools/call', call)
    const inputResponses = { material: answerTo('material', job.job) }
    return taskIdOf(await this.send('tools/call', { ...call, inputResponses, requestState }))
  }

  /** Makes a task at once. It is sent once and waited for as long as it takes: sent again, it makes another task. */
  async create(job: Job): Promise<string> {
    const { signal } = this.#scene
    const { result } = await this.#post('tools/call', { name: 'build', arguments: job }, signal)
    return taskIdOf(result)
  }

  /** Answers what a task asks until it has ended. */
  async finish(job: Job, taskId: string): Promise<Done> {
    const told = new Map<string, string>()
    let last = ''
    for (;;) {
      const task = await this.send('tasks/get', { taskId })
      expect(task.lastUpdatedAt >= last, `"${job.job}" is older than it was`).toBe(true)
      last = task.lastUpdatedAt
      if (task.status !== 'working' && task.status !== 'input_required') {
        return { job, taskId, task, text: textOf(task), wanted: resultOf(job.job, told) }
      }
      for (const [key, { params }] of Object.entries<Wire>(task.inputRequests ?? {})) {
        expect([...told.keys()], `"${job.job}" asks again`).not.toContain(key)
        await this.send('tasks/update', { taskId, inputResponses: { [key]: answerTo(key, job.job) } })
        told.set(key, toldIn(params.message))
      }
      await this.#scene.sleep(this.#pollMs)
    }
  }

  /** Waits until a task has this status. */
  async until(taskId: string, status: string): Promise<void> {
    while ((await this.send('tasks/get', { taskId })).status !== status) await this.#scene.sleep(this.#pollMs)
  }

  /** Sends a request until somebody answers it, each time to another instance. */
  async send(method: string, params: Record<string, unknown>): Promise<Wire> {
    for (;;) {
      const { result, error } = (await this.#try(method, params)) ?? {}
      if (result !== undefined) return result
      if (error !== undefined && !(this.#forgives && error.code === -32603)) {
        throw new Error(`${method} was refused: ${JSON.stringify(error)}`)
      }
      await this.#scene.sleep(50)
    }
  }

  /** The answer, or undefined where it was lost. */
  async #try(method: string, params: Record<string, unknown>): Promise<Wire> {
    try {
      return await this.#post(method, params, AbortSignal.timeout(PATIENCE_MS))
    } catch {
      return undefined
    }
  }

  async #post(method: string, params: Record<string, unknown>, signal: AbortSignal): Promise<Wire> {
    const urls = this.#urls()
    const url = urls[Math.floor(Math.random() * urls.length)]
    if (url === undefined) throw new Error('No instance is up.')
    return (await post(url, { method, params, signal, capabilities: TAKES_TASKS })).message
  }
}

function taskIdOf({ resultType, taskId }: Wire): string {
  expect(resultType).toBe('task')
  return taskId
}

function answerTo(key: string, job: string): object {
  const answer = ANSWERS[key]
  if (answer === undefined) throw new Error(`"${job}" asks for "${key}", which was asked before.`)
  return accept(answer(job))
}

/** What a question tells: `How large is …?`, `Which colour has …?`. */
function toldIn(message: string): string {
  return /(?:is|has) (.*)\?$/.exec(message)?.[1] ?? ''
}

function resultOf(job: string, told: ReadonlyMap<string, string>): string {
  const [drawn, cut] = [told.get('size'), told.get('colour')]
  if (cut !== undefined) expect(cut.split(', ')[0]).toBe(drawn)
  return `${job}: oak, ${cut}, the colour of ${job}, paid`
}

function textOf({ status, result }: Wire): string {
  return status === 'completed' ? result.content[0].text : status
}
