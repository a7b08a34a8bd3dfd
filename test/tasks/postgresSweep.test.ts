/** What is left behind, what is held, and what is shared. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import pg from 'pg'
import { beforeAll, expect, test } from 'vitest'
import { newDatabase, runSql } from '../postgres/database.ts'
import { EngineFixture } from '../postgres/engineFixture.ts'
import { newTask } from './contract/harness.ts'
import { engineSettings } from '../../src/tasks/internal.ts'
import { sweep } from '../../src/tasks/sql/transitions.ts'
import { databaseOf, postgres } from '../../src/postgres/database.ts'
import { PostgresDriver } from '../../src/postgres/tasks/driver.ts'

const fixture = new EngineFixture()
const done = { status: 'completed', result: {} } as const
// The machine may be busy.
const SLOWLY = { timeout: 20_000 }
let url: string
beforeAll(async () => void (url = await newDatabase()))

const count = async (table: string) => {
  const [row] = await runSql<{ count: number }>(url, `SELECT count(*)::int AS count FROM ${table}`)
  return row?.count
}

test('expired tasks are removed with all their rows, however many there are, and by several processes at once', async () => {
  const { engine, connection } = await fixture.open({ url, schema: 'sweeps' })
  const driver = new PostgresDriver(databaseOf(connection), engineSettings({}))
  const store = {
    driver,
    sql: driver.sql,
    audience: 'test',
    channels: [],
    logger: () => fixture.logger,
    settings: engineSettings({}),
  }
  const kept = await engine.create(newTask())
  const { journal } = newTask()
  journal.steps.set('a', { value: 1 })
  await Promise.all(Array.from({ length: 120 }, () => engine.create(newTask())))
  await engine.create(newTask({ journal }))
  await runSql(url, 'UPDATE sweeps.tasks SET expires_at = 1 WHERE id <> $1', [JSON.stringify(kept.id)])

  expect((await engine.list('ann', undefined, 10)).tasks).toHaveLength(1)
  expect([await count('sweeps.tasks'), await count('sweeps.steps')]).toEqual([122, 1])
  await Promise.all([sweep(store), sweep(store), sweep(store)])
  expect([await count('sweeps.tasks'), await count('sweeps.calls'), await count('sweeps.steps')]).toEqual([1, 1, 0])
  expect(await engine.read(kept.id, 'ann')).toMatchObject({ status: 'working' })
})

test('ten thousand waiting tasks cost no memory, and many callers no more connections than allowed', async () => {
  const { engine } = await fixture.open({ url, schema: 'many', maxConnections: 3 })
  const { id } = await engine.create(newTask({ tool: 'unserved' }))
  await engine.cancel(id, 'ann')
  const columns = 'owner, tool, tool_key, call_id, round, created_at, updated_at'
  await runSql(
    url,
    `INSERT INTO many.tasks (address, call, holder, id, status, ${columns})
       SELECT md5(n::text), md5(n::text), 'another', to_json(n::text)::text, 'input_required', ${columns}
       FROM many.tasks, generate_series(1, 10000) AS n;
     INSERT INTO many.questions (task, wire_key, key, times, request, state, asked_at)
       SELECT number, '"a"', '"a"', 1, '{}', 'open', 1 FROM many.tasks WHERE status = 'input_required'`,
  )
  const before = usedBytes()
  fixture.work(engine, (lease) => lease.end(done))
  const made = await Promise.all(Array.from({ length: 50 }, () => engine.create(newTask())))
  for (const task of made)
    await expect.poll(async () => (await engine.read(task.id, 'ann'))?.status, SLOWLY).toBe('completed')
  const [{ used } = { used: 0 }] = await runSql<{ used: number }>(
    url,
    `SELECT count(*)::int AS used FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = 'pannier'`,
  )
  expect(used).toBeLessThanOrEqual(3)
  expect(usedBytes() - before).toBeLessThan(8_000_000)
})

function usedBytes(): number {
  setFlagsFromString('--expose-gc')
  runInNewContext('gc()')
  return process.memoryUsage().heapUsed
}

test('a pool that was passed in is used and never ended, and must allow two connections', async () => {
  const pool = new pg.Pool({ connectionString: url, max: 2 })
  const { engine, connection } = await fixture.open({ pool, schema: 'given' })
  const { id } = await engine.create(newTask())
  fixture.work(engine, (lease) => lease.end(done))
  await expect.poll(async () => (await engine.read(id, 'ann'))?.status, SLOWLY).toBe('completed')
  await engine.close()
  await connection.close()
  expect((await pool.query('SELECT 1 AS one')).rows).toEqual([{ one: 1 }])
  await pool.end()
  expect(() => postgres({ pool: new pg.Pool({ max: 1 }) })).toThrow(/allow at least two/)
})
