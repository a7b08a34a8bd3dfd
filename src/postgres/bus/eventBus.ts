/**
 * An event bus over PostgreSQL. Events are rows of a table; a notification only names the publisher of new ones.
 *
 * - Every user of the database may LISTEN. Events contain URIs of resources and ids of sessions, so notifications
 *   contain no events, only a digest of the audience and a random id of the publisher. Reading events needs rights on
 *   the table. Events of more than 8000 bytes, the limit of notifications, are no exception.
 * - A publisher numbers its events and writes one batch at a time. A reader remembers the last number of each
 *   publisher, so events arrive in the publisher's order, and once, also when a batch was written twice.
 * - Events stay in the table for two minutes. After a broken connection, missed events are read, and unwritten ones are
 *   written. Older events are lost, as the contract of a bus allows.
 */
import { assertOptionNames, type OptionNames } from '../../protocol/index.ts'
import { randomUUID } from 'node:crypto'
import type { EventBus, ServerEvent } from '../../server/index.ts'
import { makeSweeper } from '../../state/stores/index.ts'
import { type Database, databaseOf, type PostgresConnection } from '../database.ts'
import { digest } from '../digest.ts'
import type { NotificationListener } from '../notifier.ts'
import { BusTable } from './busTable.ts'
import { Inbox } from './inbox.ts'
import { Outbox } from './outbox.ts'

export interface PostgresBusOptions {
  /** Only buses with the same value exchange events; for servers of different names in one schema. @default '' */
  audience?: string
}

const BUS_OPTIONS: OptionNames<PostgresBusOptions> = { audience: true }

/** An event bus for all machines that use this database. It connects at the first use. Close it before the connection. */
export function postgresBus(
  connection: PostgresConnection,
  options: PostgresBusOptions = {},
): EventBus & { close(): Promise<void> } {
  assertOptionNames(options, BUS_OPTIONS, 'postgresBus')
  const { audience = '' } = options
  const bus = new PostgresBus(databaseOf(connection), digest('bus', audience))
  return {
    publish: (event) => bus.publish(event),
    subscribe: (listener) => bus.subscribe(listener),
    close: () => bus.close(),
  }
}

const TICK_MS = 1000

class PostgresBus implements NotificationListener {
  readonly #database: Database
  readonly #listeners = new Set<(event: ServerEvent) => void>()
  readonly #publisher = randomUUID()
  readonly #prefix: string
  readonly #outbox: Outbox
  readonly #inbox: Inbox
  readonly #sweep: () => void
  #connecting: Promise<void> | undefined
  #tick: NodeJS.Timeout | undefined
  #isClosed = false

  constructor(database: Database, audience: Buffer) {
    this.#database = database
    this.#prefix = `bus ${audience.toString('base64url').slice(0, 22)} `
    const table = new BusTable(database, audience, this.#publisher)
    this.#outbox = new Outbox(table, () => this.#announce())
    this.#inbox = new Inbox(table, (event) => this.#deliver(event))
    this.#sweep = makeSweeper(performance.now.bind(performance), () => void table.removeExpired().catch(() => {}))
  }

  publish(event: ServerEvent): void {
    if (this.#isClosed) return
    this.#start()
    this.#outbox.add(JSON.stringify(event))
    this.#deliver(event)
  }

  subscribe(listener: (event: ServerEvent) => void): () => void {
    if (this.#isClosed) return () => {}
    this.#start()
    this.#listeners.add(listener)
    return () => this.#listeners.delete(listener)
  }

  /** Writes the waiting events, if the database is available, and ends all subscriptions. */
  async close(): Promise<void> {
    if (this.#isClosed) return
    this.#isClosed = true
    this.#listeners.clear()
    clearInterval(this.#tick)
    this.#inbox.close()
    await this.#outbox.close()
    await this.#connecting
    await this.#database.notifier.unsubscribe(this)
  }

  onNotification(message: string): void {
    if (!message.startsWith(this.#prefix)) return
    const publisher = message.slice(this.#prefix.length)
    if (publisher !== this.#publisher) this.#inbox.readFrom(publisher)
  }

  /** Without a connection, notifications were lost in both directions. */
  onGap(): void {
    if (this.#outbox.hasRecent) this.#announce()
    this.#outbox.retry()
    this.#inbox.readAll()
    this.#inbox.retry()
  }

  #start(): void {
    if (this.#tick !== undefined) return
    this.#tick = setInterval(() => this.#onTick(), TICK_MS).unref()
    this.#inbox.start()
    this.#connecting = this.#database.notifier.subscribe(this)
    this.#sweep()
  }

  #onTick(): void {
    this.#sweep()
    this.#inbox.forgetOld()
    // Polls, because some connection poolers never accept LISTEN.
    if (!this.#database.notifier.isListening) this.#inbox.readAll()
  }

  #announce(): void {
    this.#database.notifier.notify(`${this.#prefix}${this.#publisher}`)
  }

  #deliver(event: ServerEvent): void {
    for (const listener of this.#listeners) {
      try {
        listener(event)
      } catch (error) {
        // The other listeners still get the event, and publish() does not throw.
        process.emitWarning(error instanceof Error ? error : String(error))
      }
    }
  }
}
