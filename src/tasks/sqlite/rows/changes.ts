/**
 * The change counter: each transaction that changes what an owner can see gets the next number, and a task stores the
 * number of its last change. One query gives all tasks that have changed since a number, however many are watched.
 */
import { withStoreErrors } from '../../../state/stores/index.ts'
import type { WriteQueue } from '../writeQueue.ts'
import type { SqliteTaskStore } from '../store.ts'

export class ChangeRows {
  readonly #audience: string
  readonly #writes: WriteQueue
  readonly #statements
  #number = 0
  #transaction: number | undefined

  constructor({ database, audience, writes }: SqliteTaskStore) {
    this.#audience = audience
    this.#writes = writes
    this.#statements = withStoreErrors(() => ({
      next: database.prepare('UPDATE changes SET last = last + 1'),
      last: database.prepare('SELECT last FROM changes'),
      since: database.prepare('SELECT id FROM tasks WHERE change > ? AND audience = ?'),
    }))
  }

  /** The number of the current transaction. */
  current(): number {
    if (this.#transaction !== this.#writes.transactionCount) {
      this.#statements.next.run()
      this.#number = this.last
      this.#transaction = this.#writes.transactionCount
    }
    return this.#number
  }

  get last(): number {
    return Number(this.#statements.last.get()?.['last'])
  }

  /** The ids, as JSON text, of the tasks that have changed since then. */
  since(seen: number): unknown[] {
    return this.#statements.since.all(seen, this.#audience).map(({ id }) => id)
  }
}
