/** Removes expired tasks in small batches, so that other writers never wait long for the lock. */
import { withStoreErrors } from '../../state/stores/index.ts'
import type { SqliteTaskStore } from './store.ts'

const SWEEP_BATCH = 100

export class Sweep {
  readonly #store: SqliteTaskStore
  readonly #statements

  constructor(store: SqliteTaskStore) {
    this.#store = store
    const { database } = store
    this.#statements = withStoreErrors(() => ({
      isDue: database.prepare('SELECT 1 FROM tasks WHERE expires_at <= :now LIMIT 1'),
      remove: database.prepare(
        `DELETE FROM tasks WHERE number IN (
           SELECT number FROM tasks WHERE expires_at <= :now ORDER BY expires_at LIMIT ${SWEEP_BATCH}
         )`,
      ),
    }))
  }

  async run(): Promise<void> {
    const now = this.#store.now()
    if (withStoreErrors(() => this.#statements.isDue.get({ now })) === undefined) return
    let removed: number | bigint
    do {
      removed = await this.#store.writes.write(() => this.#statements.remove.run({ now }).changes)
    } while (removed === SWEEP_BATCH)
  }
}
