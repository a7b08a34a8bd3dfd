/**
 * What the contract tests share: a store, engines on it, new tasks, and workers that the test drives.
 *
 * All tests of one engine use one store. Each has an audience of its own, so none sees the tasks of another.
 */
import { randomUUID } from 'node:crypto'
import type { InputRequest } from '@modelcontextprotocol/client'
import { afterAll, afterEach, beforeAll } from 'vitest'
import { type AnsweredBy, newJournal } from '../../../src/journal/index.ts'
import type { EngineOptions, NewQuestion, NewTask, TaskEngine, TaskRecord } from '../../../src/tasks/engine.ts'
import { ManualWorker } from './manualWorker.ts'

/** What the contract needs of an engine. */
export interface EngineStore {
  /** A new engine on this store, not open yet. */
  engine(options?: EngineOptions): TaskEngine
  /** Command-line arguments after which Node is a worker process over this store: see `workerProcess.ts`. */
  readonly worker: readonly string[]
  /** Whether a worker process holds a write lock that others would wait for. @default never */
  isLocked?(): boolean
  remove(): Promise<void>
}

const silent = { debug() {}, info() {}, warn() {}, error() {} }

export class ContractHarness {
  readonly #cleanups: (() => unknown)[] = []
  #store: EngineStore | undefined
  #audience = ''

  constructor(newStore: () => Promise<EngineStore>) {
    beforeAll(async () => void (this.#store = await newStore()))
    afterEach(() => this.#cleanUp())
    afterAll(() => this.#store?.remove())
  }

  get store(): EngineStore {
    if (this.#store === undefined) throw new Error('The store exists only while tests run.')
    return this.#store
  }

  /** The audience of the current test. */
  get audience(): string {
    this.#audience ||= `test ${randomUUID()}`
    return this.#audience
  }

  /** Runs a cleanup after the test, the last one first. */
  onTestEnd(clean: () => unknown): void {
    this.#cleanups.push(clean)
  }

  /** An open engine on the shared store. */
  async engine(
    options?: EngineOptions,
    audience = this.audience,
    channels: readonly string[] = [],
  ): Promise<TaskEngine> {
    const engine = this.store.engine(options)
    await engine.open({ audience, channels, logger: () => silent })
    this.onTestEnd(() => engine.close())
    return engine
  }

  /** A worker of the engine that the test drives by itself. */
  worker(engine: TaskEngine, { tools = ['chore'], concurrency = 100 } = {}): ManualWorker {
    const worker = new ManualWorker(engine, tools, concurrency)
    this.onTestEnd(() => worker.abandonAll())
    return worker
  }

  async #cleanUp(): Promise<void> {
    for (const clean of this.#cleanups.splice(0).toReversed()) await clean()
    this.#audience = ''
  }
}

/** A principal who answers. */
export function answerer(id: string): AnsweredBy {
  return { id, subject: id, claims: {} }
}

/** A task to create; each has an id and a call of its own. */
export function newTask(given: Partial<NewTask> = {}): NewTask {
  return {
    id: randomUUID(),
    owner: 'ann',
    holder: given.owner ?? 'ann',
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

/** Answers to these keys on the wire; each contains its key. */
export function answering(...keys: string[]) {
  return { accepted: new Map(keys.map((key) => [key, answerTo(key)])), refused: new Set<string>() }
}

export function answerTo(key: string) {
  return { action: 'accept', content: { for: key } }
}

export function keysOf(task: TaskRecord | undefined): string[] {
  return [...(task?.questions.keys() ?? [])].toSorted()
}
