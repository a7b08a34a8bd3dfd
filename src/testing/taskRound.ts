/** One run of a task: sends the answers to its questions, and waits until it has ended or asks again. */
import type { InputRequest } from '@modelcontextprotocol/client'
import { CODES, hasEnded, type Json, type TaskStatus } from '../protocol/index.ts'
import type { Server } from '../server/index.ts'
import { ExerciseError } from './errors.ts'
import type { Harness, SentRound } from './harness.ts'
import type { HandlerActivity } from './recorder.ts'
import { type RoundOutcome, withoutMeta } from './request.ts'

/** How long a run may take. */
export const RUN_MS = 30_000
const POLL_MS = 5

/** A task that a call has become. */
export class FollowedTask {
  readonly #harness: Harness
  readonly #id: string
  /** The keys of all questions so far, as the handler has them. */
  readonly #asked = new Set<string>()
  /** The open questions by the keys of the handler: who answers, and the key on the wire, which is used only once. */
  #open = new Map<string, { readonly who: string; readonly wireKey: string }>()

  constructor(harness: Harness, id: string) {
    this.#harness = harness
    this.#id = id
  }

  async answer(server: Server, responses: Readonly<Record<string, Json>>): Promise<void> {
    for (const [key, response] of Object.entries(responses)) {
      const { who, wireKey } = this.#open.get(key) ?? { who: 'caller', wireKey: key }
      await this.#request(server, 'tasks/update', who, { inputResponses: { [wireKey]: response } })
    }
  }

  /** Waits for the end of a run; undefined when it takes too long. */
  async run(server: Server): Promise<SentRound | undefined> {
    const found = await waitFor(() => this.#outcome(server))
    if (found === undefined) return undefined
    return { message: {}, task: this.#id, ...this.#harness.tasks.takeActivity(this.#id), ...found }
  }

  /** Waits for a run whose outcome gets lost, and returns its activity; empty if the answers caused no run. */
  lostRun(server: Server): Promise<Partial<HandlerActivity> | undefined> {
    return waitFor(async () => {
      const isWorking = (await this.#get(server, 'caller'))?.['status'] === 'working'
      return this.#harness.tasks.takeLost(this.#id) ?? (isWorking ? undefined : {})
    })
  }

  async #outcome(server: Server): Promise<{ outcome: RoundOutcome; refused?: readonly string[] } | undefined> {
    const task = await this.#get(server, 'caller')
    const status = task?.['status'] as TaskStatus | undefined
    if (status === 'completed') return { outcome: { kind: 'complete', result: withoutMeta(task?.['result'] as Json) } }
    if (status === 'input_required') return this.#questions(server, task as Json)
    if (status !== undefined && !hasEnded(status)) return undefined
    const error = (task?.['error'] ?? {}) as { code?: number; message?: string }
    const { code = CODES.INTERNAL_ERROR, message = `The task is ${status ?? 'gone'}.` } = error
    return { outcome: { kind: 'refused', code, message } }
  }

  /** The open questions of all who may answer one. */
  async #questions(server: Server, task: Json): Promise<{ outcome: RoundOutcome; refused: readonly string[] }> {
    this.#open = new Map()
    const requests: Record<string, InputRequest> = {}
    const refused: string[] = []
    for (const who of this.#harness.answerers) {
      const seen = who === 'caller' ? task : await this.#get(server, who)
      for (const [wireKey, request] of Object.entries((seen?.['inputRequests'] ?? {}) as typeof requests)) {
        const key = this.#keyOf(wireKey)
        if (this.#harness.answererOf(key) !== who) continue
        this.#open.set(key, { who, wireKey })
        requests[key] = request
        if (key !== wireKey) refused.push(key)
      }
    }
    if (this.#open.size === 0) throw this.#unanswerable(task)
    for (const key of Object.keys(requests)) this.#asked.add(key)
    return { outcome: { kind: 'asked', requests, state: undefined }, refused }
  }

  /** A question whose answer did not fit comes again, under another key on the wire: `amount~2` after `amount`. */
  #keyOf(wireKey: string): string {
    const key = wireKey.replace(/~\d+$/, '')
    return !this.#asked.has(wireKey) && this.#asked.has(key) ? key : wireKey
  }

  #unanswerable({ statusMessage, inputRequests }: Json): ExerciseError {
    const callers = Object.keys(inputRequests ?? {})
    if (callers.length > 0) return notForApprover(String(callers[0]))
    const advice = 'Give a principal that may answer in principals.approvers, by the key of its question.'
    return new ExerciseError(
      'ANSWER_MISSING',
      `No principal of the exercise may answer. ${String(statusMessage)} ${advice}`,
    )
  }

  async #get(server: Server, who: string): Promise<Json | undefined> {
    return (await this.#request(server, 'tasks/get', who)).result
  }

  #request(server: Server, method: string, who: string, params: Json = {}) {
    return this.#harness.request(server, method, { taskId: this.#id, ...params }, who)
  }
}

export function notForApprover(key: string): ExerciseError {
  return new ExerciseError(
    'ANSWER_REFUSED',
    `The question "${key}" is for the caller, and not for its approver in principals.approvers; say with "by" in the question who may answer.`,
  )
}

async function waitFor<T>(look: () => Promise<T | undefined>): Promise<T | undefined> {
  const until = performance.now() + RUN_MS
  while (performance.now() < until) {
    const found = await look()
    if (found !== undefined) return found
    await new Promise((resolve) => setTimeout(resolve, POLL_MS))
  }
  return undefined
}
