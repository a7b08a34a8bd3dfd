/**
 * Notifies processes of changes by PostgreSQL's LISTEN and NOTIFY, on one connection per process.
 *
 * - Notifications are an optimization. Those sent while the connection is broken are lost: `onGap` reports that to
 *   listeners, which also poll from time to time.
 * - They are sent outside of transactions: inside, PostgreSQL would serialize the commits of all senders.
 * - Every user of the database can listen, so messages contain digests and never ids.
 */
import { randomBytes } from 'node:crypto'
import { backoffMs } from '../protocol/index.ts'
import type { PostgresClient, PostgresPool } from './sql.ts'

export interface NotificationListener {
  /** Called with a message from this process or another one. */
  onNotification(message: string): void
  /** Called when messages may have been missed. */
  onGap(): void
}

const RECONNECT = { firstMs: 100, maxMs: 5000 }
const KEEP_ALIVE_MS = 10_000
const ANSWER_TIMEOUT_MS = 5000
const MAX_BATCH = 200
const MAX_PENDING = 10_000
const NOTIFY = 'SELECT pg_notify($1, message) FROM unnest($2::text[]) AS message'

export class Notifier {
  readonly #channel: string
  readonly #pool: () => Promise<PostgresPool>
  readonly #listeners = new Set<NotificationListener>()
  // Identifies our own messages, which PostgreSQL sends back to us.
  readonly #sender = randomBytes(6).toString('base64url')
  readonly #pending = new Set<string>()
  #client: PostgresClient | undefined
  #connecting: Promise<void> | undefined
  #sending: Promise<void> | undefined
  #attempts = 0
  #retry: NodeJS.Timeout | undefined
  #keepAlive: NodeJS.Timeout | undefined

  constructor(channel: string, pool: () => Promise<PostgresPool>) {
    this.#channel = channel
    this.#pool = pool
  }

  get isListening(): boolean {
    return this.#client !== undefined
  }

  /** Resolves when the first attempt to connect has succeeded or failed. */
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

  /** Sends the pending messages and stops listening. */
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
      .finally(() => this.#afterConnecting())
  }

  /** Sends the messages that came while it connected, and those that listeners send in `onGap`. */
  #afterConnecting(): void {
    this.#connecting = undefined
    if (this.#pending.size > 0) this.#send()
  }

  async #listen(): Promise<void> {
    const client = await (await this.#pool()).connect()
    const broken = () => this.#onBroken(client)
    client.on('error', broken)
    client.on('end', broken)
    client.on('notification', ({ payload = '' }) => this.#receive(payload))
    this.#client = client
    try {
      // A lost message does no harm, so NOTIFY need not wait for the disk.
      const text = `LISTEN "${this.#channel}"; SET synchronous_commit = off`
      await client.query({ text, query_timeout: ANSWER_TIMEOUT_MS })
    } catch (error) {
      this.#disconnect(client)
      throw error
    }
    this.#attempts = 0
    this.#keepAlive = setInterval(() => this.#send(), KEEP_ALIVE_MS).unref()
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
    clearInterval(this.#keepAlive)
    client.release(true)
  }

  #reconnectLater(): void {
    clearTimeout(this.#retry)
    this.#attempts++
    this.#retry = setTimeout(() => this.#connect(), backoffMs(this.#attempts, RECONNECT)).unref()
  }

  #send(): void {
    const client = this.#client
    if (client === undefined) this.#pending.clear()
    else if (this.#connecting === undefined) this.#sending ??= this.#sendAll(client)
  }

  /**
   * Sends one statement at a time; messages that arrive in the meantime go with the next. Without messages it is a
   * keep-alive.
   */
  async #sendAll(client: PostgresClient): Promise<void> {
    try {
      do {
        const messages = [...this.#pending].slice(0, MAX_BATCH)
        for (const message of messages) this.#pending.delete(message)
        const values = [this.#channel, messages.map((message) => `${this.#sender} ${message}`)]
        await client.query({ name: 'pannier_notify', text: NOTIFY, values, query_timeout: ANSWER_TIMEOUT_MS })
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

  #eachListener(run: (listener: NotificationListener) => void): void {
    for (const listener of this.#listeners) run(listener)
  }
}
