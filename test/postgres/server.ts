import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { fileURLToPath } from 'node:url'

const program = fileURLToPath(new URL('./programs/server.ts', import.meta.url))

/** A PostgreSQL server that ends with this process. */
export class PostgresServer {
  readonly #child: ChildProcess
  readonly #lines: AsyncIterator<string>
  readonly #address: { readonly port: number; readonly password: string }

  static async start(): Promise<PostgresServer> {
    const child = spawn(process.execPath, ['--no-warnings', program], { stdio: ['pipe', 'pipe', 'inherit'] })
    const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
    const { value, done } = await lines.next()
    if (done) throw new Error('PostgreSQL cannot be started.')
    return new PostgresServer(child, lines, JSON.parse(value))
  }

  private constructor(child: ChildProcess, lines: AsyncIterator<string>, address: { port: number; password: string }) {
    this.#child = child
    this.#lines = lines
    this.#address = address
  }

  /** The address of a database, for its superuser. */
  url(database = 'postgres'): string {
    const { port, password } = this.#address
    return `postgres://postgres:${password}@127.0.0.1:${port}/${database}`
  }

  /** As an operator would: connections are cut, and what was committed is kept. */
  stop(): Promise<void> {
    return this.#say('stop')
  }

  restart(): Promise<void> {
    return this.#say('start')
  }

  /** Stops it for good, and removes its files. */
  async end(): Promise<void> {
    const closed = once(this.#child, 'close')
    this.#child.stdin?.end()
    await closed
  }

  async #say(word: string): Promise<void> {
    this.#child.stdin?.write(`${word}\n`)
    const { value } = await this.#lines.next()
    if (value !== word) throw new Error(`PostgreSQL did not ${word}.`)
  }
}
