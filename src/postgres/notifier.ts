/**
 * Tells processes at once what they would find out by looking: PostgreSQL's LISTEN and NOTIFY, on one connection.
 *
 * - Nothing depends on it but speed. What is rung while the connection is broken is lost to other processes; whoever
 *   listens is told when it may have missed something, and looks by itself from time to time.
 * - It rings outside of transactions: inside, all that ring would have to commit one after the other.
 * - Whoever may connect to the database may listen, so what is rung are digests, never ids.
 */
import { randomBytes } from 'node:crypto'
import type { PostgresClient, PostgresPool } from './sql.ts'

export interface BellListener {
  /** Rung by this process or by another. */
  heard(message: string): void
  /** Something may have been rung and not heard. */
  missed(): void
}

const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 5000
const PING_MS = 10_000
const ANSWER_TIMEOUT_MS = 5000
const MOST_AT_ONCE = 200
const MOST_WAITING = 10_000
const NOTIFY = 'SELECT pg_notify($1, message) FROM unnest($2::text[]) AS message'

export class Bell {
  readonly #channel: string
  readonly #pool: () => Promise<PostgresPool>
  readonly #listeners = new Set<BellListener>()
  // Tells what comes back of our own from what others rang.
  readonly #sender = randomBytes(6).toString('base64url')
  readonly #waiting = new Set<string>()
  #client: PostgresClient | undefined
  #connecting: Promise<void> | undefined
  #sending: Promise<void> | undefined
  #pauseMs = FIRST_PAUSE_MS
  #retry: NodeJS.Timeout | undefined
  #ping: NodeJS.Timeout | undefined

  constructor(channel: string, pool: () => Promise<PostgresPool>) {
    this.#channel = channel
    this.#pool = pool
  }

  get isListening(): boolean {
    return this.#client !== undefined
  }

  /** Resolves when the first attempt to listen is over, whatever came of it. */
  async join(listener: BellListener): Promise<void> {
    this.#listeners.add(listener)
    this.#connect()
    await this.#connecting
  }

  async leave(listener: BellListener): Promise<void> {
    this.#listeners.delete(listener)
    if (this.#listeners.size === 0) await this.stop()
  }

  ring(message: string): void {
    this.#tell((listener) => listener.heard(message))
    if (this.#waiting.size < MOST_WAITING) this.#waiting.add(message)
    this.#send()
  }

  /** Lets what was rung get out, and stops listening. */
  async stop(): Promise<void> {
    this.#listeners.clear()
    clearTimeout(this.#retry)
    await this.#connecting
    await this.#sending
    if (this.#client !== undefined) this.#hangUp(this.#client)
  }

  #connect(): void {
    if (this.#client !== undefined || this.#listeners.size === 0) return
    this.#connecting ??= this.#listen()
      .catch(() => this.#tryLater())
      .finally(() => (this.#connecting = undefined))
  }

  async #listen(): Promise<void> {
    const client = await (await this.#pool()).connect()
    const broken = () => this.#lose(client)
    client.on('error', broken)
    client.on('end', broken)
    client.on('notification', ({ payload = '' }) => this.#hear(payload))
    this.#client = client
    try {
      // Nothing depends on what is rung, so it does not wait for the disk.
      const text = `LISTEN "${this.#channel}"; SET synchronous_commit = off`
      await client.query({ text, query_timeout: ANSWER_TIMEOUT_MS })
    } catch (error) {
      this.#hangUp(client)
      throw error
    }
    this.#pauseMs = FIRST_PAUSE_MS
    this.#ping = setInterval(() => this.#send(), PING_MS).unref()
    this.#tell((listener) => listener.missed())
  }

  #lose(client: PostgresClient): void {
    if (this.#client !== client) return
    this.#hangUp(client)
    this.#tryLater()
  }

  #hangUp(client: PostgresClient): void {
    this.#client = undefined
    this.#waiting.clear()
    clearInterval(this.#ping)
    client.release(true)
  }

  #tryLater(): void {
    clearTimeout(this.#retry)
    this.#retry = setTimeout(() => this.#connect(), this.#pauseMs).unref()
    this.#pauseMs = Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS)
  }

  #send(): void {
    const client = this.#client
    if (client === undefined) this.#waiting.clear()
    else if (this.#connecting === undefined) this.#sending ??= this.#sendAll(client)
  }

  /** One statement at a time; what is rung meanwhile goes with the next. With nothing to say it is a sign of life. */
  async #sendAll(client: PostgresClient): Promise<void> {
    try {
      do {
        const messages = [...this.#waiting].slice(0, MOST_AT_ONCE)
        for (const message of messages) this.#waiting.delete(message)
        const values = [this.#channel, messages.map((message) => `${this.#sender} ${message}`)]
        await client.query({ name: 'pannier_bell', text: NOTIFY, values, query_timeout: ANSWER_TIMEOUT_MS })
      } while (this.#waiting.size > 0 && this.#client === client)
    } catch {
      this.#lose(client)
    } finally {
      this.#sending = undefined
    }
  }

  #hear(payload: string): void {
    const [sender, ...message] = payload.split(' ')
    if (sender !== this.#sender) this.#tell((listener) => listener.heard(message.join(' ')))
  }

  #tell(what: (listener: BellListener) => void): void {
    for (const listener of this.#listeners) what(listener)
  }
}
