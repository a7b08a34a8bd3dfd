/** The file of a task store: whether it is still where it was opened, with all its tables. */
import { statSync } from 'node:fs'
import type { DatabaseSync, StatementSync } from 'node:sqlite'
import { StateError } from '../../state/internal.ts'
import { withStoreErrors } from '../../state/stores/index.ts'

const TABLES = ['tasks', 'calls', 'steps', 'questions', 'changes']

export class StoreFile {
  readonly #path: string
  readonly #identity: string | undefined
  readonly #tables: StatementSync

  constructor(database: DatabaseSync, path: string) {
    const rows = TABLES.map((table) => `SELECT 1 FROM ${table} WHERE rowid = 0`)
    this.#path = path
    this.#identity = identityAt(path)
    this.#tables = withStoreErrors(() => database.prepare(rows.join(' UNION ALL ')))
  }

  /** Whether another file has its path now. */
  get isReplaced(): boolean {
    const identity = identityAt(this.#path)
    return identity !== undefined && identity !== this.#identity
  }

  /** Throws where a task that is stored here would not be run. */
  assertUsable(): void {
    if (identityAt(this.#path) !== this.#identity) {
      const advice = 'put it back, or restore it from a backup. A restart begins with a new one'
      throw new StateError('STORE_CORRUPT', `The file of the task store was moved or deleted; ${advice}.`)
    }
    withStoreErrors(() => this.#tables.get())
  }
}

/** Undefined where there is no file. */
function identityAt(path: string): string | undefined {
  if (path === ':memory:') return undefined
  const stats = withStoreErrors(() => statSync(path, { bigint: true, throwIfNoEntry: false }))
  return stats && `${stats.dev} ${stats.ino}`
}
