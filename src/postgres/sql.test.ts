/** Statements that go wrong halfway. */
import pg from 'pg'
import { beforeAll, expect, test, vi } from 'vitest'
import { newDatabase } from '../../test/postgres/database.ts'
import { EngineFixture } from '../../test/postgres/engineFixture.ts'
import { StateError } from '../state/internal.ts'
import { newTask } from '../../test/tasks/contract/harness.ts'
import { type PostgresClient, type PostgresPool, type PostgresQuery, runTransaction } from './sql.ts'

const fixture = new EngineFixture()
let pool: pg.Pool
beforeAll(async () => {
  pool = new pg.Pool({ connectionString: await newDatabase() })
  await pool.query('CREATE TABLE numbers (n integer PRIMARY KEY); INSERT INTO numbers VALUES (1)')
  return () => pool.end()
})

const numbers = async () => (await pool.query<{ n: number }>('SELECT n FROM numbers')).rows.map(({ n }) => n)

test('a transaction that fails changes nothing, and its connection is used again', async () => {
  const failing = runTransaction(pool, { idleMs: 1000 }, async (sql) => {
    await sql.rows('UPDATE numbers SET n = 2')
    await sql.rows('INSERT INTO numbers VALUES (2)')
  })
  await expect(failing).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  const refusing = runTransaction(pool, { idleMs: 1000 }, async (sql) => {
    await sql.rows('UPDATE numbers SET n = 2')
    throw new Error('I changed my mind.')
  })
  await expect(refusing).rejects.toThrow()
  expect(await numbers()).toEqual([1])
})

/** A pool with one connection, on which the statements that begin so fail. */
function poolFailing(start?: string) {
  const queries: PostgresQuery[] = []
  const release = vi.fn<(error?: Error | boolean) => void>()
  const client: Partial<PostgresClient> = {
    query: async (query) => {
      queries.push(query)
      await Promise.resolve()
      if (start !== undefined && query.text.startsWith(start)) throw new Error('cut')
      return { rows: [] }
    },
    on: () => {},
    removeListener: () => {},
    release,
  }
  const fake: Partial<PostgresPool> = { connect: async () => client as PostgresClient }
  return { pool: fake as PostgresPool, queries, release }
}

test('a transaction begins and ends within the time of a statement', async () => {
  const { pool: fake, queries, release } = poolFailing()
  await runTransaction(fake, { idleMs: 100.5, statementMs: 1500.5 }, (sql) => sql.rows('SELECT 1'))
  await runTransaction(fake, { idleMs: 1 }, () => Promise.resolve())
  expect(queries).toMatchObject([
    { text: expect.stringMatching(/^BEGIN; .* = 101;/), query_timeout: 1500.5 },
    { text: 'SELECT 1', query_timeout: 1501 },
    { text: 'COMMIT', query_timeout: 1500.5 },
    { query_timeout: 6000 },
    { query_timeout: 6000 },
  ])
  expect(release.mock.calls).toEqual([[undefined], [undefined]])
})

test.each([
  ['BEGIN', 0],
  ['COMMIT', 1],
])('a connection that breaks at %s is not used again, and the transaction has failed', async (start, runs) => {
  const { pool: fake, release } = poolFailing(start)
  const run = vi.fn(async () => 'done')
  await expect(runTransaction(fake, { idleMs: 1000 }, run)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  expect([run.mock.calls.length, release.mock.calls]).toEqual([runs, [[expect.any(Error)]]])
})

test('a statement of a transaction is planned for a table that grows', async () => {
  await pool.query('ANALYZE numbers')
  const plan = await runTransaction(pool, { idleMs: 1000 }, (sql) =>
    sql.rows('EXPLAIN SELECT FROM numbers WHERE n = ANY($1)', [[1, 2]]),
  )
  expect(JSON.stringify(plan)).toMatch(/Index/)
  expect(JSON.stringify(plan)).not.toMatch(/Seq Scan/)
})

test('a process that is suspended inside a transaction does not block others', async () => {
  const [locked, goOn] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const heldUp = runTransaction(pool, { idleMs: 200 }, async (sql) => {
    await sql.rows('UPDATE numbers SET n = n + 1')
    locked.resolve()
    await goOn.promise
    await sql.rows('UPDATE numbers SET n = n + 1')
  })
  await locked.promise
  await pool.query('UPDATE numbers SET n = n + 10')
  goOn.resolve()
  await expect(heldUp).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  expect(await numbers()).toEqual([11])
})

test('a claim whose response was lost can be repeated by the same run, and by no other', async () => {
  const { engine } = await fixture.open({ pool: losingOnce('INSERT INTO "losing".steps'), schema: 'losing' })
  await engine.create(newTask())
  const claimed = new Promise((resolve, reject) => {
    fixture.work(engine, async (lease) => {
      const first = await lease.claim('pay').catch((error: unknown) => error instanceof StateError && error.code)
      const outcomes = [first, await lease.claim('pay'), await lease.claim('pay')]
      await lease.end({ status: 'completed', result: {} }).then(() => resolve(outcomes), reject)
    })
  })
  expect(await claimed).toEqual(['STORE_UNAVAILABLE', 'fresh', 'running'])
})

test('a step whose response was lost is committed once', async () => {
  const { engine } = await fixture.open({ pool: losingOnce('INSERT INTO "steps".steps'), schema: 'steps' })
  await engine.create(newTask())
  const found = new Promise((resolve) => {
    fixture.work(engine, async (lease) => {
      if (lease.journal.steps.size > 0)
        return lease.end({ status: 'completed', result: {} }).then(() => resolve([...lease.journal.steps]))
      await lease.step('a', { value: 1 }).catch(() => lease.step('a', { value: 1 }))
      return lease.giveBack()
    })
  })
  expect(await found).toEqual([['a', { value: 1 }]])
})

/** A pool that runs the first statement with this text in it and then says that the connection broke. */
function losingOnce(text: string): PostgresPool {
  let isLost = false
  return {
    connect: () => pool.connect(),
    end: () => pool.end(),
    on: pool.on.bind(pool),
    async query(query: PostgresQuery) {
      const result = await pool.query(query)
      if (isLost || !query.text.includes(text)) return result
      isLost = true
      throw new Error('Connection terminated unexpectedly')
    },
  }
}
