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

export interface NotificationListener {
  /** Rung by this process or by another. */
  onNotification(message: string): void
  /** Something may have been rung and not heard. */
  onGap(): void
}

const FIRST_PAUSE_MS = 100
const LONGEST_PAUSE_MS = 5000
const PING_MS = 10_000
const ANSWER_TIMEOUT_MS = 5000
const MAX_BATCH = 200
const MAX_PENDING = 10_000
const NOTIFY = 'SELECT pg_notify($1, message) FROM unnest($2::text[]) AS message'

export class Notifier {
  readonly #channel: string
  readonly #pool: () => Promise<PostgresPool>
  readonly #listeners = new Set<NotificationListener>()
  // Tells what comes back of our own from what others rang.
  readonly #sender = randomBytes(6).toString('base64url')
  readonly #pending = new Set<string>()
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
  async subscribe(listener: NotificationListener): Promise<void> {
    this.#listeners.add(listener)
    this.#connect()
    await this.#connecting
  }

  async unsubscribe(listener: NotificationListener): Promise<void> {
    this.#listeners.delete(listener)
    if (this.#listeners.size === 0) await this.stop()
  }

  notify(message: string): void {
    this.#eachListener((listener) => listener.onNotification(message))
    if (this.#pending.size < MAX_PENDING) this.#pending.add(message)
    this.#send()
  }

  /** Lets what was rung get out, and stops listening. */
  async stop(): Promise<void> {
    this.#listeners.clear()
    clearTimeout(this.#retry)
    await this.#connecting
    await this.#sending
    if (this.#client !== undefined) this.#disconnect(this.#client)
  }

  #connect(): void {
    if (this.#client !== undefined || this.#listeners.size === 0) return
    this.#connecting ??= this.#listen()
      .catch(() => this.#reconnectLater())
      .finally(() => (this.#connecting = undefined))
  }

  async #listen(): Promise<void> {
    const client = await (await this.#pool()).connect()
    const broken = () => this.#onBroken(client)
    client.on('error', broken)
    client.on('end', broken)
    client.on('notification', ({ payload = '' }) => this.#receive(payload))
    this.#client = client
    try {
      // Nothing depends on what is rung, so it does not wait for the disk.
      const text = `LISTEN "${this.#channel}"; SET synchronous_commit = off`
      await client.query({ text, query_timeout: ANSWER_TIMEOUT_MS })
    } catch (error) {
      this.#disconnect(client)
      throw error
    }
    this.#pauseMs = FIRST_PAUSE_MS
    this.#ping = setInterval(() => this.#send(), PING_MS).unref()
    this.#eachListener((listener) => listener.onGap())
  }

  #onBroken(client: PostgresClient): void {
    if (this.#client !== client) return
    this.#disconnect(client)
    this.#reconnectLater()
  }

  #disconnect(client: PostgresClient): void {
    this.#client = undefined
    this.#pending.clear()
    clearInterval(this.#ping)
    client.release(true)
  }

  #reconnectLater(): void {
    clearTimeout(this.#retry)
    this.#retry = setTimeout(() => this.#connect(), this.#pauseMs).unref()
    this.#pauseMs = Math.min(2 * this.#pauseMs, LONGEST_PAUSE_MS)
  }

  #send(): void {
    const client = this.#client
    if (client === undefined) this.#pending.clear()
    else if (this.#connecting === undefined) this.#sending ??= this.#sendAll(client)
  }

  /** One statement at a time; what is rung meanwhile goes with the next. With nothing to say it is a sign of life. */
  async #sendAll(client: PostgresClient): Promise<void> {
    try {
      do {
        const messages = [...this.#pending].slice(0, MAX_BATCH)
        for (const message of messages) this.#pending.delete(message)
        const values = [this.#channel, messages.map((message) => `${this.#sender} ${message}`)]
        await client.query({ name: 'pannier_bell', text: NOTIFY, values, query_timeout: ANSWER_TIMEOUT_MS })
      } while (this.#pending.size > 0 && this.#client === client)
    } catch {
      this.#onBroken(client)
    } finally {
      this.#sending = undefined
    }
  }

  #receive(payload: string): void {
    const [sender, ...message] = payload.split(' ')
    if (sender !== this.#sender) this.#eachListener((listener) => listener.onNotification(message.join(' ')))
  }

  #eachListener(what: (listener: NotificationListener) => void): void {
    for (const listener of this.#listeners) what(listener)
  }
}
