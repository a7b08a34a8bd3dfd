/** What calls were made with, apart from the rows that change often. */
import type { Json } from '../../../protocol/index.ts'
import { saying } from '../../../state/internal.ts'
import { readEntry, readObject, unreadable } from '../../entry.ts'
import type { Store } from '../store.ts'

export interface CallRow {
  readonly args: Json
  readonly caller: Json
  readonly own: unknown
  readonly begunAt: number | undefined
}

export class CallRows {
  readonly #statements

  constructor({ database }: Store) {
    this.#statements = saying(() => ({
      add: database.prepare('INSERT INTO calls (task, begun_at, args, caller, own) VALUES (?, ?, ?, ?, ?)'),
      ofTask: database.prepare('SELECT begun_at, args, caller, own FROM calls WHERE task = ?'),
      remember: database.prepare('UPDATE calls SET own = :own WHERE task = :task AND own IS NOT :own'),
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

  /** What a handler in explicit style remembers, as JSON. */
  remember(task: number, own: string | null): void {
    this.#statements.remember.run({ task, own })
  }
}
