/** Opens engines for the tests of a file, and closes them after each test. */
import { afterEach } from 'vitest'
import type { EngineOptions, Lease, TaskEngine } from '../../src/tasks/engine.ts'
import { type PostgresConnection, type PostgresOptions, postgres } from '../../src/postgres/database.ts'
import { postgresEngine } from '../../src/postgres/tasks/engine.ts'

export interface Opened {
  readonly connection: PostgresConnection
  readonly engine: TaskEngine
}

export class EngineFixture {
  /** What the engines have logged. */
  readonly logged: string[] = []
  readonly #cleanups: (() => unknown)[] = []

  constructor() {
    afterEach(async () => {
      for (const close of this.#cleanups.splice(0).toReversed()) await close()
    })
  }

  /** Runs a cleanup after the test, the last one first. */
  onTestEnd(close: () => unknown): void {
    this.#cleanups.push(close)
  }

  connect(options: PostgresOptions): PostgresConnection {
    const connection = postgres(options)
    this.onTestEnd(() => connection.close())
    return connection
  }

  async open(options: PostgresOptions, engineOptions: EngineOptions = {}): Promise<Opened> {
    const connection = this.connect(options)
    return { connection, engine: await this.openOn(connection, engineOptions) }
  }

  async openOn(connection: PostgresConnection, options: EngineOptions = {}): Promise<TaskEngine> {
    const engine = postgresEngine(connection, options)
    this.onTestEnd(() => engine.close())
    await engine.open({ audience: 'test', logger: () => this.logger })
    return engine
  }

  get logger() {
    const keep = (_: object, sentence: string) => void this.logged.push(sentence)
    return { debug: keep, info: keep, warn: keep, error: keep }
  }

  /** Runs tasks until the test is over. */
  work(engine: TaskEngine, run: (lease: Lease) => Promise<void>): void {
    const working = engine.work({ tools: ['chore'], concurrency: 10, run })
    this.onTestEnd(() => working.stop())
  }
}
