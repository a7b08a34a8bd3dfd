/** Engines for a test file, closed after the test that opened them. */
import { afterEach } from 'vitest'
import type { EngineOptions, Lease, TaskEngine } from '../../src/tasks/engine.ts'
import { type PostgresConnection, type PostgresOptions, postgres } from '../../src/postgres/database.ts'
import { postgresEngine } from '../../src/postgres/tasks/engine.ts'

export interface Opened {
  readonly connection: PostgresConnection
  readonly engine: TaskEngine
}

export class Engines {
  /** What the engines have logged. */
  readonly said: string[] = []
  readonly #later: (() => unknown)[] = []

  constructor() {
    afterEach(async () => {
      for (const close of this.#later.splice(0).toReversed()) await close()
    })
  }

  /** Done after the test, the last first. */
  later(close: () => unknown): void {
    this.#later.push(close)
  }

  connect(options: PostgresOptions): PostgresConnection {
    const connection = postgres(options)
    this.later(() => connection.close())
    return connection
  }

  async open(options: PostgresOptions, engineOptions: EngineOptions = {}): Promise<Opened> {
    const connection = this.connect(options)
    return { connection, engine: await this.openOn(connection, engineOptions) }
  }

  async openOn(connection: PostgresConnection, options: EngineOptions = {}): Promise<TaskEngine> {
    const engine = postgresEngine(connection, options)
    this.later(() => engine.close())
    await engine.open({ audience: 'test', logger: () => this.logger })
    return engine
  }

  get logger() {
    const keep = (_: object, sentence: string) => void this.said.push(sentence)
    return { debug: keep, info: keep, warn: keep, error: keep }
  }

  /** Runs tasks until the test is over. */
  work(engine: TaskEngine, run: (lease: Lease) => Promise<void>): void {
    const working = engine.work({ tools: ['chore'], concurrency: 10, run })
    this.later(() => working.stop())
  }
}
