/**
 * What the contract tests share: a store, engines over it, tasks to put into them and workers to take them out.
 *
 * All tests of one engine use one store. Each has an audience of its own, so none sees the tasks of another.
 */
import { randomUUID } from 'node:crypto'
import type { InputRequest } from '@modelcontextprotocol/client'
import { afterAll, afterEach, beforeAll } from 'vitest'
import { newJournal } from '../../../src/journal/index.ts'
import type { EngineOptions, NewQuestion, NewTask, TaskEngine, TaskRecord } from '../../../src/tasks/engine.ts'
import { ManualWorker } from './manualWorker.ts'

/** What the contract needs to know about an engine. */
export interface EngineStore {
  /** An engine over this store, not open yet. */
  engine(options?: EngineOptions): TaskEngine
  /** Command-line arguments after which Node is a worker process over this store: see `workerProcess.ts`. */
  readonly worker: readonly string[]
  /** Whether a worker process is in the middle of a write that others would wait for. @default never */
  isLocked?(): boolean
  remove(): Promise<void>
}

const silent = { debug() {}, info() {}, warn() {}, error() {} }

export class ContractHarness {
  readonly #clean: (() => unknown)[] = []
  #store: EngineStore | undefined
  #audience = ''

  constructor(newStore: () => Promise<EngineStore>) {
    beforeAll(async () => void (this.#store = await newStore()))
    afterEach(() => this.#clear())
    afterAll(() => this.#store?.remove())
  }

  get store(): EngineStore {
    if (this.#store === undefined) throw new Error('The store is there while tests run.')
    return this.#store
  }

  /** Of the test that runs. */
  get audience(): string {
    this.#audience ||= `test ${randomUUID()}`
    return this.#audience
  }

  /** Done after the test, the last first. */
  onTestEnd(clean: () => unknown): void {
    this.#clean.push(clean)
  }

  /** An open engine over the common store. */
  async engine(options?: EngineOptions, audience = this.audience): Promise<TaskEngine> {
    const engine = this.store.engine(options)
    await engine.open({ audience, logger: () => silent })
    this.onTestEnd(() => engine.close())
    return engine
  }

  /** Lets the engine work for the test, which takes each lease by hand. */
  worker(engine: TaskEngine, { tools = ['chore'], concurrency = 100 } = {}): ManualWorker {
    const hand = new ManualWorker(engine, tools, concurrency)
    this.onTestEnd(() => hand.abandonAll())
    return hand
  }

  async #clear(): Promise<void> {
    for (const clean of this.#clean.splice(0).toReversed()) await clean()
    this.#audience = ''
  }
}

/** A task to create; each has an id and a call of its own. */
export function newTask(given: Partial<NewTask> = {}): NewTask {
  return {
    id: randomUUID(),
    owner: 'ann',
    tool: 'chore',
    args: {},
    caller: {},
    journal: newJournal(randomUUID()),
    ttlMs: 60_000,
    ...given,
  }
}

/** A question to ask, by the handler's key. */
export function question(key: string, given: Partial<NewQuestion> = {}): NewQuestion {
  return { key, request: request(key), question: `fingerprint of ${key}`, times: 1, ...given }
}

export function request(message: string): InputRequest {
  const requestedSchema = { type: 'object' as const, properties: {} }
  return { method: 'elicitation/create', params: { mode: 'form', message, requestedSchema } }
}

/** Answers to these wire keys, each telling which it answers. */
export function answering(...keys: string[]) {
  return { accepted: new Map(keys.map((key) => [key, answerTo(key)])), refused: new Set<string>() }
}

export function answerTo(key: string) {
  return { action: 'accept', content: { for: key } }
}

export function keysOf(task: TaskRecord | undefined): string[] {
  return [...(task?.questions.keys() ?? [])].toSorted()
}
