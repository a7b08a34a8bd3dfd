/** The registered workers and their heartbeat counters. */
import { withStoreErrors } from '../../../state/stores/index.ts'
import type { ProcessIdentity } from '../processIdentity.ts'
import type { SqliteTaskStore } from '../store.ts'

export interface WorkerRow {
  readonly id: string
  readonly process: ProcessIdentity
  /** How long this worker may be silent, by its own options. */
  readonly leaseMs: number
  readonly beat: number
}

export class WorkerRows {
  readonly #statements

  constructor({ database }: SqliteTaskStore) {
    this.#statements = withStoreErrors(() => ({
      all: database.prepare('SELECT id, machine, pid, started, lease_ms, beat FROM workers'),
      add: database.prepare(
        `INSERT INTO workers (id, machine, pid, started, lease_ms, beat)
         VALUES (:id, :machine, :pid, :started, :leaseMs, 0)`,
      ),
      isRegistered: database.prepare('SELECT 1 FROM workers WHERE id = ?'),
      beat: database.prepare('UPDATE workers SET beat = beat + 1 WHERE id = :id'),
      remove: database.prepare('DELETE FROM workers WHERE id = :id'),
      removeSilent: database.prepare('DELETE FROM workers WHERE id = :id AND beat = :beat'),
    }))
  }

  all(): WorkerRow[] {
    return withStoreErrors(() => this.#statements.all.all()).map(
      ({ id, machine, pid, started, lease_ms: leaseMs, beat }) => ({
        id: String(id),
        process: { machine: String(machine), pid: Number(pid), started: String(started) },
        leaseMs: Number(leaseMs),
        beat: Number(beat),
      }),
    )
  }

  add({ id, process, leaseMs }: Omit<WorkerRow, 'beat'>): void {
    this.#statements.add.run({ id, ...process, leaseMs })
  }

  isRegistered(id: string): boolean {
    return this.#statements.isRegistered.get(id) !== undefined
  }

  /** Increments the counter; false if the worker is no longer registered. */
  beat(id: string): boolean {
    return this.#statements.beat.run({ id }).changes === 1
  }

  remove(id: string): void {
    this.#statements.remove.run({ id })
  }

  /** Removes a worker if its counter is unchanged; gives whether it was removed. */
  removeSilent({ id, beat }: Pick<WorkerRow, 'id' | 'beat'>): boolean {
    return this.#statements.removeSilent.run({ id, beat }).changes === 1
  }
}
