import { once } from 'node:events'
import pg from 'pg'
import { beforeAll, expect, test, vi } from 'vitest'
import { newDatabase, runSql } from '../../test/postgres/database.ts'
import { EngineFixture } from '../../test/postgres/engineFixture.ts'
import { newTask } from '../../test/tasks/contract/harness.ts'
import { databaseOf } from './database.ts'
import type { PostgresPool } from './sql.ts'

const fixture = new EngineFixture()
let url: string
beforeAll(async () => void (url = await newDatabase()))

const newNotifier = () => databaseOf(fixture.connect({ url })).notifier

function listener() {
  return { onNotification: vi.fn<(message: string) => void>(), onGap: vi.fn<() => void>() }
}

test('a message of one process reaches the others, and listeners of the same process at once', async () => {
  const [here, there] = [newNotifier(), newNotifier()]
  const [own, other] = [listener(), listener()]
  await Promise.all([here.subscribe(own), there.subscribe(other)])
  for (let at = 0; at < 500; at++) here.notify(`message ${at}`)
  expect(own.onNotification).toHaveBeenCalledTimes(500)
  await vi.waitFor(() => expect(other.onNotification).toHaveBeenCalledTimes(500))
  expect(other.onNotification.mock.calls.map(([message]) => message)).toEqual(
    own.onNotification.mock.calls.map(([message]) => message),
  )
  expect(own.onNotification).toHaveBeenCalledTimes(500)
})

test('listeners of one process share a connection, so that each gets a message once', async () => {
  const [here, there] = [newNotifier(), newNotifier()]
  const others = [listener(), listener(), listener()]
  await here.subscribe(listener())
  for (const other of others) await there.subscribe(other)
  const messages = Array.from({ length: 100 }, (_, n) => `message ${n}`)
  for (const message of messages) here.notify(message)
  await vi.waitFor(() => expect(others[2]?.onNotification).toHaveBeenCalledWith('message 99'))
  for (const { onNotification } of others) expect(onNotification.mock.calls.flat()).toEqual(messages)
})

test('a notifier whose connection is cut reports that messages may have been missed, and receives again', async () => {
  const [here, there] = [newNotifier(), newNotifier()]
  const other = listener()
  await Promise.all([here.subscribe(listener()), there.subscribe(other)])
  other.onGap.mockClear()
  await runSql(
    url,
    `SELECT pg_terminate_backend(pid) FROM pg_stat_activity
     WHERE datname = current_database() AND application_name = 'pannier'`,
  )
  await vi.waitFor(() => expect(other.onGap).toHaveBeenCalled())
  await vi.waitFor(() => {
    here.notify('again')
    expect(other.onNotification).toHaveBeenCalledWith('again')
  })
})

test('where LISTEN is refused, tasks are found and watched by polling', async () => {
  const pool = withoutListen(new pg.Pool({ connectionString: url }))
  fixture.onTestEnd(() => pool.end())
  const [{ engine }, { engine: other }] = [await fixture.open({ pool }, { leaseMs: 2000 }), await fixture.open({ url })]
  const leased = new Promise<string>((resolve) => fixture.work(engine, async ({ id }) => resolve(id)))
  const { id } = await other.create(newTask())
  expect(await leased).toBe(id)

  const changed = vi.fn<() => void>()
  engine.watch(id, changed)
  await vi.waitFor(() => expect(changed).toHaveBeenCalled())
  changed.mockClear()
  await other.cancel(id, 'ann')
  await vi.waitFor(() => expect(changed).toHaveBeenCalled())
})

test('where LISTEN is refused, a run that is cancelled elsewhere learns of it at its next renewal', async () => {
  const pool = withoutListen(new pg.Pool({ connectionString: url }))
  fixture.onTestEnd(() => pool.end())
  const [{ engine }, { engine: other }] = [await fixture.open({ pool }, { leaseMs: 2000 }), await fixture.open({ url })]
  const { id } = await other.create(newTask())
  const reason = new Promise<unknown>((resolve) => {
    fixture.work(engine, async ({ signal }) => {
      const aborted = once(signal, 'abort')
      await other.cancel(id, 'ann')
      await aborted
      resolve(signal.reason)
    })
  })
  expect(await reason).toMatchObject({ code: 'LEASE_LOST', message: expect.stringContaining('cancelled') })
})

/** A pool as behind a connection pooler in transaction mode: LISTEN is refused. */
function withoutListen(pool: pg.Pool): PostgresPool {
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
