/**
 * The baseline of the SQLite engine: the rows it writes, in its own tables and transactions, by prepared statements
 * alone.
 *
 * Everything in flight is one commit, as the engine does with everything that comes in one turn of the event loop.
 * Nothing is searched, checked, parsed or notified.
 */
import { randomUUID } from 'node:crypto'
import { DatabaseSync } from 'node:sqlite'
import { type Limit, type Outcome, Tally } from '../../load/load.ts'
import { openEngine } from './engines.ts'
import { ARGS, AUDIENCE, CALLER, OWNER, RESULT, STEP, stepKey, type TaskStore, TOOL } from './store.ts'
import { sqliteWriteCounts } from './writeCounts.ts'

const KEEP_MS = 604_800_000
const WORKER = randomUUID()
const [owner, toolKey] = [JSON.stringify([AUDIENCE, OWNER]), JSON.stringify([AUDIENCE, TOOL])]
const [args, caller] = [JSON.stringify(ARGS), JSON.stringify(CALLER)]
const [result, step] = [JSON.stringify(RESULT), JSON.stringify(STEP)]

export async function sqliteStatements(path: string): Promise<TaskStore> {
  const { close } = await openEngine({ database: 'SQLite', path })
  await close()
  const rows = rowsIn(path)
  return {
    async tasks(inFlight) {
      return {
        run: async (limit) => loopInBatches(limit, inFlight, () => rows.end(rows.create(inFlight))),
        close: nothing,
      }
    },
    async steps(inFlight) {
      const tasks = rows.create(inFlight)
      let n = 0
      return {
        run: async (limit) => loopInBatches(limit, inFlight, () => rows.step(tasks, stepKey(++n))),
        async close() {
          rows.end(tasks)
          return undefined
        },
      }
    },
    writeCounts: () => sqliteWriteCounts(path),
  }
}

/** Does everything in flight as one batch, and repeats that until the limit is reached. */
function loopInBatches(limit: Limit, inFlight: number, once: () => void): Outcome {
  const tally = new Tally(limit)
  while (tally.running) {
    once()
    for (let done = 0; done < inFlight; done++) tally.countRight()
  }
  return tally.outcome()
}

async function nothing(): Promise<undefined> {}

/** Each function is one transaction. */
function rowsIn(path: string) {
  const database = new DatabaseSync(path, { timeout: 5000 })
  database.exec('PRAGMA synchronous = FULL; PRAGMA foreign_keys = ON')
  const { inTransaction, insertTask, insertCall, claim, end, insertStep } = prepare(database)
  return {
    /** Creates tasks that are leased to this worker. */
    create: (count: number): number[] =>
      inTransaction(() => {
        const now = Date.now()
        return Array.from({ length: count }, () => {
          const [id, call] = [`"${randomUUID()}"`, `"${randomUUID()}"`]
          const keys = [`["${AUDIENCE}",${id}]`, owner, owner, `[${owner},${call}]`, toolKey]
          const { lastInsertRowid } = insertTask.run(...keys, id, JSON.stringify(TOOL), call, now, now)
          const task = Number(lastInsertRowid)
          insertCall.run(task, args, caller)
          claim.run(WORKER, now, task)
          return task
        })
      }),
    step(tasks: readonly number[], key: string): void {
      inTransaction(() => {
        for (const task of tasks) insertStep.run(task, JSON.stringify(key), step)
      })
    },
    end(tasks: readonly number[]): void {
      inTransaction(() => {
        const now = Date.now()
        for (const task of tasks) end.run(result, now + KEEP_MS, now, task)
      })
    },
  }
}

function prepare(database: DatabaseSync) {
  const begin = database.prepare('BEGIN IMMEDIATE')
  const commit = database.prepare('COMMIT')
  return {
    inTransaction<T>(write: () => T): T {
      begin.run()
      const written = write()
      commit.run()
      return written
    },
    insertTask: database.prepare(
      `INSERT INTO tasks (address, owner, holder, call, tool_key, id, tool, call_id, status, round, created_at, updated_at)
       VALUES (?, ?, ?, ?, ?, ?, ?, ?, 'working', 0, ?, ?)`,
    ),
    insertCall: database.prepare('INSERT INTO calls (task, args, caller) VALUES (?, ?, ?)'),
    claim: database.prepare('UPDATE tasks SET worker = ?, generation = 1, leased_until = ? WHERE number = ?'),
    insertStep: database.prepare('INSERT INTO steps (task, key, done, value) VALUES (?, ?, 1, ?)'),
    end: database.prepare(
      `UPDATE tasks SET status = 'completed', outcome = ?, worker = NULL, expires_at = ?, updated_at = ?,
       version = version + 1, change = 1 WHERE number = ?`,
    ),
  }
}
