/** A server as a program: a connection is a process of its own, which is gone with everything it started when it ends. */
import { StdioConnection, type StdioOptions } from './stdio.ts'

export class StdioWire {
  readonly transport = 'stdio'
  readonly #options: StdioOptions
  readonly #connections: StdioConnection[] = []

  constructor(options: StdioOptions) {
    this.#options = options
  }

  /** What the server asked for while it had no request of ours. */
  get unrelated(): readonly string[] {
    return this.#connections.flatMap(({ unrelated }) => unrelated)
  }

  /** Lines on the standard output that are no messages. */
  get strayLines(): number {
    return this.#connections.reduce((sum, { strayLines }) => sum + strayLines, 0)
  }

  /** Starts a process. */
  async connect(timeoutMs = this.#options.timeoutMs): Promise<StdioConnection> {
    this.#options.signal?.throwIfAborted()
    const connection = new StdioConnection({ ...this.#options, timeoutMs })
    this.#connections.push(connection)
    await connection.start()
    return connection
  }

  async close(): Promise<void> {
    await Promise.all(this.#connections.map((connection) => connection.close()))
  }
}
