import { once } from 'node:events'
import pg from 'pg'
import { beforeAll, expect, test, vi } from 'vitest'
import { newDatabase, runSql } from '../../test/postgres/database.ts'
import { Engines } from '../../test/postgres/engines.ts'
import { newTask } from '../../test/tasks/contract/harness.ts'
import { databaseOf } from './database.ts'
import type { PostgresPool } from './sql.ts'

const engines = new Engines()
let url: string
beforeAll(async () => void (url = await newDatabase()))

const newBell = () => databaseOf(engines.connect({ url })).bell

function listener() {
  return { heard: vi.fn<(message: string) => void>(), missed: vi.fn<() => void>() }
}

test('what one process rings is heard by the others, and at home at once', async () => {
  const [here, there] = [newBell(), newBell()]
  const [own, other] = [listener(), listener()]
  await Promise.all([here.join(own), there.join(other)])
  for (let at = 0; at < 500; at++) here.ring(`message ${at}`)
  expect(own.heard).toHaveBeenCalledTimes(500)
  await vi.waitFor(() => expect(other.heard).toHaveBeenCalledTimes(500))
  expect(other.heard.mock.calls.map(([message]) => message)).toEqual(own.heard.mock.calls.map(([message]) => message))
  expect(own.heard).toHaveBeenCalledTimes(500)
})

test('a bell whose connection is cut says that something may have been missed, and is heard again', async () => {
  const [here, there] = [newBell(), newBell()]
  const other = listener()
  await Promise.all([here.join(listener()), there.join(other)])
  other.missed.mockClear()
  await runSql(
    url,
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = 'pannier'`,
  )
  await vi.waitFor(() => expect(other.missed).toHaveBeenCalled())
  await vi.waitFor(() => {
    here.ring('again')
    expect(other.heard).toHaveBeenCalledWith('again')
  })
})

test('where nothing can be listened to, tasks are found and watched by looking', async () => {
  const pool = deaf(new pg.Pool({ connectionString: url }))
  engines.later(() => pool.end())
  const [{ engine }, { engine: other }] = [await engines.open({ pool }, { leaseMs: 2000 }), await engines.open({ url })]
  const leased = new Promise<string>((resolve) => engines.work(engine, async ({ id }) => resolve(id)))
  const { id } = await other.create(newTask())
  expect(await leased).toBe(id)

  const changed = vi.fn<() => void>()
  engine.watch(id, changed)
  await vi.waitFor(() => expect(changed).toHaveBeenCalled())
  changed.mockClear()
  await other.cancel(id, 'ann')
  await vi.waitFor(() => expect(changed).toHaveBeenCalled(), { timeout: 5000 })
})

test('a run that is cancelled elsewhere is told by its next renewal where nothing can be heard', async () => {
  const pool = deaf(new pg.Pool({ connectionString: url }))
  engines.later(() => pool.end())
  const [{ engine }, { engine: other }] = [await engines.open({ pool }, { leaseMs: 2000 }), await engines.open({ url })]
  const { id } = await other.create(newTask())
  const reason = new Promise<unknown>((resolve) => {
    engines.work(engine, async ({ signal }) => {
      const aborted = once(signal, 'abort')
      await other.cancel(id, 'ann')
      await aborted
      resolve(signal.reason)
    })
  })
  expect(await reason).toMatchObject({ code: 'LEASE_LOST', message: expect.stringContaining('cancelled') })
})

/** A pool as behind a pooler that hands connections around: LISTEN is refused. */
function deaf(pool: pg.Pool): PostgresPool {
  return {
    query: (query) => pool.query(query),
    end: () => pool.end(),
    on: pool.on.bind(pool),
    async connect() {
      const client = await pool.connect()
      const query = client.query.bind(client) as (query: { text: string }) => Promise<pg.QueryResult>
      return Object.assign(Object.create(client), {
        query: (given: { text: string }) =>
          given.text.startsWith('LISTEN') ? Promise.reject(new Error('No.')) : query(given),
      })
    },
  }
}
