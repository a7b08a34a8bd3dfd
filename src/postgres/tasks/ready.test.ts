/** What choosing tasks by caller costs, and tasks of earlier versions. */
import { randomUUID } from 'node:crypto'
import { beforeAll, expect, test } from 'vitest'
import { newDatabase, runSql } from '../../../test/postgres/database.ts'
import { EngineFixture } from '../../../test/postgres/engineFixture.ts'
import { newTask } from '../../../test/tasks/contract/harness.ts'
import { engineSettings, MAX_CALLERS } from '../../tasks/internal.ts'
import { databaseOf } from '../database.ts'
import type { Sql } from '../sql.ts'
import { JobQueues } from './queue.ts'
import { ReadyTasks } from './ready.ts'
import { transaction } from './store.ts'

const fixture = new EngineFixture()
const done = { status: 'completed', result: {} } as const
let url: string
beforeAll(async () => void (url = await newDatabase()))

const COPIED = 'owner, tool, queue, args, caller, call_id, round, created_at, status'
const WAITING = 20_000

/** Many tasks that wait, of as many callers as `holder` makes of their numbers. */
async function backlog(schema: string, holder: string) {
  const { engine, connection } = await fixture.open({ url, schema })
  await engine.create(newTask())
  await runSql(
    url,
    `INSERT INTO ${schema}.tasks (address, call, id, holder, ${COPIED})
       SELECT sha256(n::text::bytea), sha256(n::text::bytea), n::text, ${holder}, ${COPIED}
       FROM ${schema}.tasks, generate_series(1, ${WAITING}) AS n`,
  )
  const [database, logger] = [databaseOf(connection), () => fixture.logger]
  const jobs = await JobQueues.start(database, 'test', logger)
  fixture.onTestEnd(() => jobs.stop())
  const store = { database, jobs, audience: 'test', logger, settings: engineSettings({}) }
  return { engine, store, queue: await jobs.queueOf('chore') }
}

interface PlanNode {
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: readonly PlanNode[]
}

/** How many rows the statement goes through, in all nodes of its plan. */
async function rowsOf(sql: Sql, [text, values]: readonly [string, unknown[]]): Promise<number> {
  const [row] = await sql.rows<{ 'QUERY PLAN': { Plan: PlanNode }[] }>(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values)
  const rows = (node: PlanNode): number =>
    (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'] +
    (node.Plans ?? []).reduce((sum, child) => sum + rows(child), 0)
  return (row?.['QUERY PLAN'] ?? []).reduce((sum, { Plan }) => sum + rows(Plan), 0)
}

test.each([
  ['of one caller', 'one', 'holder'],
  ['of as many callers', 'many', "sha256(('caller ' || n)::bytea)"],
])('a claim goes through few rows, however many tasks wait, %s', async (_, schema, holder) => {
  const { store, queue } = await backlog(schema, holder)
  const ready = new ReadyTasks(store)
  // The second time it begins after those callers that it has looked at.
  for (const _turn of [1, 2]) {
    await transaction(store, async (sql) => {
      const statements: (readonly [string, unknown[]])[] = []
      const rows: Sql['rows'] = (text, values = []) => {
        statements.push([text, values])
        return sql.rows(text, values)
      }
      const { picked, isMore } = await ready.pick({ ...sql, rows }, queue, 16)
      expect([picked.length, isMore]).toEqual([16, true])
      expect(new Set(picked.map(({ task }) => task)).size).toBe(16)
      for (const statement of statements) expect(await rowsOf(sql, statement)).toBeLessThan(2000)
    })
  }
})

test('where very many callers wait, those who have waited longest are among those whose turn it is', async () => {
  const { store, queue } = await backlog('patience', "sha256(('caller ' || n)::bytea)")
  const [first] = await runSql<{ task: string }>(url, 'SELECT min(task) AS task FROM patience.tasks')
  const ready = new ReadyTasks(store)
  const { picked } = await transaction(store, (sql) => ready.pick(sql, queue, 1))
  expect(picked.map(({ task }) => task)).toEqual([first?.task])
})

test('where more callers wait than were looked at, more tasks may be ready, also with slots left', async () => {
  const { store, queue } = await backlog('slots', "sha256(('caller ' || n)::bytea)")
  const { picked, isMore } = await transaction(store, (sql) => new ReadyTasks(store).pick(sql, queue, 3 * MAX_CALLERS))
  expect(picked.length).toBeLessThan(3 * MAX_CALLERS)
  expect(isMore).toBe(true)
})

test('tasks of an earlier version are run: those that wait in the queue, and those that have lost their worker', async () => {
  const { engine, connection } = await fixture.open({ url, schema: 'earlier' })
  const database = databaseOf(connection)
  const jobs = await JobQueues.start(database, 'test', () => fixture.logger)
  fixture.onTestEnd(() => jobs.stop())
  const queue = await jobs.queueOf('chore')
  const made = [await engine.create(newTask()), await engine.create(newTask())]
  for (const [at, { id }] of made.entries()) {
    const job = randomUUID()
    const [row] = await runSql<{ task: string }>(
      url,
      `UPDATE earlier.tasks SET job = $2, held = $3, holder = '\\x00' WHERE id = $1 RETURNING task`,
      [id, job, at === 1],
    )
    await jobs.put(await database.statements(6000), queue, [{ id: job, task: String(row?.task) }], 0)
  }
  await runSql(url, 'UPDATE earlier_jobs.job SET priority = 0')
  fixture.work(engine, (lease) => lease.end(done))
  const statuses = async () => Promise.all(made.map(async ({ id }) => (await engine.read(id, 'ann'))?.status))
  await expect.poll(statuses, { timeout: 20_000 }).toEqual(['completed', 'completed'])
  const [left] = await runSql<{ count: number }>(url, 'SELECT count(*)::int AS count FROM earlier_jobs.job')
  expect(left).toEqual({ count: 0 })
})
