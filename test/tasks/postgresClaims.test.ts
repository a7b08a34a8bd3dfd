/** What choosing tasks by caller costs. */
import { beforeAll, expect, test } from 'vitest'
import { newDatabase, runSql } from '../postgres/database.ts'
import { EngineFixture } from '../postgres/engineFixture.ts'
import { newTask } from './contract/harness.ts'
import { MAX_CALLERS } from '../../src/tasks/fairness.ts'
import { engineSettings } from '../../src/tasks/internal.ts'
import { query, type Statement, type Transaction } from '../../src/tasks/sql/driver.ts'
import { claimReady } from '../../src/tasks/sql/claim.ts'
import { ReadyTasks } from '../../src/tasks/sql/ready.ts'
import { keyOf } from '../../src/tasks/sql/store.ts'
import { databaseOf } from '../../src/postgres/database.ts'
import { PostgresDriver } from '../../src/postgres/tasks/driver.ts'

const fixture = new EngineFixture()
let url: string
beforeAll(async () => void (url = await newDatabase()))

const COPIED = 'owner, tool, tool_key, call_id, round, created_at, updated_at, status'
const WAITING = 20_000

/** Many tasks that wait, of as many callers as `holder` makes of their numbers. */
async function backlog(schema: string, holder: string) {
  const { engine, connection } = await fixture.open({ url, schema })
  await engine.create(newTask())
  await runSql(
    url,
    `INSERT INTO ${schema}.tasks (address, call, id, holder, ${COPIED})
       SELECT md5(n::text), md5(n::text), to_json(n::text)::text, ${holder}, ${COPIED}
       FROM ${schema}.tasks, generate_series(1, ${WAITING}) AS n;
     INSERT INTO ${schema}.calls (task, args, caller) SELECT number, '{}', '{}' FROM ${schema}.tasks WHERE number > 1`,
  )
  const driver = new PostgresDriver(databaseOf(connection), engineSettings({}))
  const store = {
    driver,
    sql: driver.sql,
    audience: 'test',
    channels: [],
    logger: () => fixture.logger,
    settings: engineSettings({}),
  }
  return { store, tool: keyOf(store, 'chore') }
}

interface PlanNode {
  readonly 'Actual Rows': number
  readonly 'Actual Loops': number
  readonly 'Rows Removed by Filter'?: number
  readonly Plans?: readonly PlanNode[]
}

/** How many rows the statement goes through, in all nodes of its plan. */
function* rowsOf({ text, values }: Statement): Transaction<number> {
  const [row] = yield* query<{ 'QUERY PLAN': { Plan: PlanNode }[] }>(`EXPLAIN (ANALYZE, FORMAT JSON) ${text}`, values)
  const rows = (node: PlanNode): number =>
    (node['Actual Rows'] + (node['Rows Removed by Filter'] ?? 0)) * node['Actual Loops'] +
    (node.Plans ?? []).reduce((sum, child) => sum + rows(child), 0)
  return (row?.['QUERY PLAN'] ?? []).reduce((sum, { Plan }) => sum + rows(Plan), 0)
}

test.each([
  ['of one caller', 'one', 'holder'],
  ['of as many callers', 'many', "md5('caller ' || n)"],
])('a claim goes through few rows, however many tasks wait, %s', async (_, schema, holder) => {
  const { store, tool } = await backlog(schema, holder)
  const ready = new ReadyTasks(store)
  // The second time it begins after those callers that it has looked at.
  for (const _turn of [1, 2]) {
    await store.driver.transaction(function* () {
      const statements: Statement[] = []
      const claiming = claimReady(store, { worker: 'w', holdMs: 1000, ready, tool, slots: 16 })
      let next = claiming.next()
      while (next.done !== true) {
        if ('text' in next.value) statements.push(next.value)
        next = claiming.next(yield next.value)
      }
      const { claimed, isMore } = next.value
      expect([new Set(claimed.map(({ task }) => task)).size, isMore]).toEqual([16, true])
      for (const statement of statements) expect(yield* rowsOf(statement)).toBeLessThan(2000)
    })
  }
})

test('where very many callers wait, the oldest task is run within one rotation', async () => {
  const { store, tool } = await backlog('patience', "md5('caller ' || n)")
  const ready = new ReadyTasks(store)
  const claimOne = async (): Promise<number | undefined> => {
    const options = { worker: 'w', holdMs: 60_000, ready, tool, slots: 1 }
    const { claimed } = await store.driver.transaction(() => claimReady(store, options))
    return claimed[0]?.task
  }
  let claims = 1
  while ((await claimOne()) !== 1) claims++
  expect(claims).toBeLessThanOrEqual(Math.ceil((WAITING + 1) / MAX_CALLERS))
})

test('where more callers wait than were looked at, more tasks may be ready, also with slots left', async () => {
  const { store, tool } = await backlog('slots', "md5('caller ' || n)")
  const { shares, isMore } = await store.driver.transaction(() => new ReadyTasks(store).pick(tool, 3 * MAX_CALLERS))
  expect([shares.size < 3 * MAX_CALLERS, isMore]).toEqual([true, true])
})
