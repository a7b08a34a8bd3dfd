/** What is left behind, what is held, and what is shared. */
import { setFlagsFromString } from 'node:v8'
import { runInNewContext } from 'node:vm'
import pg from 'pg'
import { beforeAll, expect, test } from 'vitest'
import { newDatabase, runSql } from '../../../test/postgres/database.ts'
import { EngineFixture } from '../../../test/postgres/engineFixture.ts'
import { answering, newTask, question } from '../../../test/tasks/contract/harness.ts'
import { engineSettings } from '../../tasks/internal.ts'
import { databaseOf, postgres } from '../database.ts'
import { JobQueues } from './queue.ts'
import { sweep } from './sweep.ts'

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

test('no job outlives its task: not one that ends, nor one that is cancelled', async () => {
  const { engine } = await fixture.open({ url, schema: 'ends' })
  const [ended, asked, cancelled] = [newTask(), newTask(), newTask({ tool: 'unserved' })]
  for (const task of [ended, asked, cancelled]) await engine.create(task)
  await engine.cancel(cancelled.id, 'ann')
  const working = engine.work({
    tools: ['chore'],
    concurrency: 2,
    run: (lease) => (lease.id === asked.id ? lease.ask([question('a')], undefined) : lease.end(done)),
  })
  const statusOf = async ({ id }: { readonly id: string }) => (await engine.read(id, 'ann'))?.status
  await expect.poll(() => Promise.all([ended, asked].map(statusOf)), SLOWLY).toEqual(['completed', 'input_required'])
  expect(await count('ends_jobs.job')).toBe(0)
  await working.stop()
  await engine.answer(asked.id, 'ann', answering('a'))
  await engine.cancel(asked.id, 'ann')
  expect(await count('ends_jobs.job')).toBe(0)
})

test('a job without a task is dropped, and one whose queue was removed is not lost', async () => {
  const { engine } = await fixture.open({ url, schema: 'strays' })
  const stray = await engine.create(newTask())
  const first = engine.work({ tools: ['chore'], concurrency: 1, run: (lease) => lease.giveBack() })
  await expect.poll(() => count('strays_jobs.job'), SLOWLY).toBe(1)
  await first.stop()
  await runSql(url, 'DELETE FROM strays.tasks WHERE id = $1', [stray.id])
  fixture.work(engine, (lease) => lease.end(done))
  await expect.poll(() => count('strays_jobs.job'), SLOWLY).toBe(0)

  await runSql(url, 'SELECT strays_jobs.delete_queue(name) FROM strays_jobs.queue')
  const { id } = await engine.create(newTask())
  await expect.poll(async () => (await engine.read(id, 'ann'))?.status, SLOWLY).toBe('completed')
})

test('expired tasks are removed with all their rows, in batches, by one process at a time', async () => {
  const { engine, connection } = await fixture.open({ url, schema: 'sweeps' })
  const [database, logger] = [databaseOf(connection), () => fixture.logger]
  const jobs = await JobQueues.start(database, 'test', logger)
  fixture.onTestEnd(() => jobs.stop())
  const store = { database, jobs, audience: 'test', logger, settings: engineSettings({}) }
  const kept = await engine.create(newTask())
  const { journal } = newTask()
  journal.steps.set('a', { value: 1 })
  for (let turn = 0; turn < 5; turn++) await engine.create(newTask())
  await engine.create(newTask({ journal }))
  // Only what was run has a job.
  const working = engine.work({ tools: ['chore'], concurrency: 7, run: (lease) => lease.giveBack() })
  await expect.poll(() => count('sweeps_jobs.job'), SLOWLY).toBe(7)
  await working.stop()
  await runSql(url, 'UPDATE sweeps.tasks SET expires_at = now() WHERE id <> $1', [kept.id])

  await expect.poll(async () => (await engine.list('ann', undefined, 10)).tasks, SLOWLY).toHaveLength(1)
  expect(await count('sweeps.tasks')).toBe(7)
  expect(await sweep(store, 4)).toBe(4)
  const removed = await Promise.all([sweep(store), sweep(store), sweep(store)])
  expect(removed.filter((each) => each > 0)).toEqual([2])
  expect(await sweep(store)).toBe(0)
  expect([await count('sweeps.tasks'), await count('sweeps.steps'), await count('sweeps_jobs.job')]).toEqual([1, 0, 1])
  expect(await engine.read(kept.id, 'ann')).toMatchObject({ status: 'working' })
})

test('ten thousand waiting tasks cost no memory, and many callers no more connections than allowed', async () => {
  const { engine } = await fixture.open({ url, schema: 'many', maxConnections: 3 })
  const { id } = await engine.create(newTask({ tool: 'unserved' }))
  await engine.cancel(id, 'ann')
  const columns = 'owner, tool, queue, args, caller, call_id, round, created_at'
  await runSql(
    url,
    `INSERT INTO many.tasks (address, call, id, status, ${columns})
       SELECT sha256(n::text::bytea), sha256(n::text::bytea), n::text, 'input_required', ${columns}
       FROM many.tasks, generate_series(1, 10000) AS n;
     INSERT INTO many.questions (task, wire_key, key, times, request, state)
       SELECT task, '"a"', '"a"', 1, '{}', 'open' FROM many.tasks WHERE status = 'input_required'`,
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
