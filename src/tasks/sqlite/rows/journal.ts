/** What a run reads and writes of its journal: the steps, the single uses it has claimed, and the call with its arguments. */
import type { Json } from '../../../protocol/index.ts'
import { withStoreErrors } from '../../../state/stores/index.ts'
import { entryText, readEntry, readObject, readString, unreadable } from '../../entry.ts'
import type { StepRow } from '../../journalRows.ts'
import type { SqliteTaskStore } from '../store.ts'

export class StepRows {
  readonly #store: SqliteTaskStore
  readonly #statements

  constructor(store: SqliteTaskStore) {
    this.#store = store
    const { database } = store
    this.#statements = withStoreErrors(() => ({
      ofTask: database.prepare('SELECT key, value FROM steps WHERE task = ? AND done = 1 ORDER BY rowid'),
      add: database.prepare(
        `INSERT INTO steps (task, key, done, value) VALUES (?, ?, 1, ?)
         ON CONFLICT (task, key) DO UPDATE SET done = 1, value = excluded.value WHERE done = 0`,
      ),
      claim: database.prepare(
        'INSERT INTO steps (task, key, done) VALUES (?, ?, 0) ON CONFLICT (task, key) DO NOTHING',
      ),
      unclaim: database.prepare('DELETE FROM steps WHERE task = ? AND key = ? AND done = 0'),
    }))
  }

  ofTask(task: number): StepRow[] {
    return this.#statements.ofTask.all(task).map(({ key, value }) => ({
      key: readString(key),
      result: value === null ? {} : { value: readEntry(value) },
    }))
  }

  /** The result of a step as it will be stored; throws if it is too large. */
  textOf(key: string, { value }: { readonly value?: unknown }): string | null {
    const { maxEntryBytes } = this.#store.settings
    return value === undefined ? null : entryText(`The result of the step "${key}"`, value, maxEntryBytes)
  }

  /** Gives whether the step is new; the first result stays. */
  add(task: number, key: string, value: string | null): boolean {
    return this.#statements.add.run(task, JSON.stringify(key), value).changes === 1
  }

  claim(task: number, key: string): 'fresh' | 'running' {
    return this.#statements.claim.run(task, JSON.stringify(key)).changes === 1 ? 'fresh' : 'running'
  }

  unclaim(task: number, key: string): void {
    this.#statements.unclaim.run(task, JSON.stringify(key))
  }
}

interface CallRow {
  readonly args: Json
  readonly caller: Json
  readonly own: unknown
  readonly begunAt: number | undefined
}

export class CallRows {
  readonly #statements

  constructor({ database }: SqliteTaskStore) {
    this.#statements = withStoreErrors(() => ({
      add: database.prepare('INSERT INTO calls (task, begun_at, args, caller, own) VALUES (?, ?, ?, ?, ?)'),
      ofTask: database.prepare('SELECT begun_at, args, caller, own FROM calls WHERE task = ?'),
      setState: database.prepare('UPDATE calls SET own = :own WHERE task = :task AND own IS NOT :own'),
    }))
  }

  add(task: number, call: { begunAt: number | undefined; args: string; caller: string; own: string | null }): void {
    this.#statements.add.run(task, call.begunAt ?? null, call.args, call.caller, call.own)
  }

  ofTask(task: number): CallRow {
    const row = this.#statements.ofTask.get(task)
    if (row === undefined) throw unreadable()
    const { args, caller, own, begun_at: begunAt } = row
    return {
      args: readObject(args),
      caller: readObject(caller),
      own: own === null ? undefined : readEntry(own),
      begunAt: begunAt === null ? undefined : Number(begunAt),
    }
  }

  /** Stores the state of a handler in explicit style, as JSON text. */
  setState(task: number, own: string | null): void {
    this.#statements.setState.run({ task, own })
  }
}
