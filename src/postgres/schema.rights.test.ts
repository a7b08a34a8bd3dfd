import { beforeAll, expect, test } from 'vitest'
import { newDatabase, runSql } from '../../test/postgres/database.ts'
import { EngineFixture } from '../../test/postgres/engineFixture.ts'
import { openingFault, newUser } from '../../test/postgres/users.ts'
import { newTask } from '../../test/tasks/contract/harness.ts'
import { postgresLedger } from './stores/ledger.ts'

const fixture = new EngineFixture()
let url: string
beforeAll(async () => void (url = await newDatabase()))

test('a user without the right to create schemas gets that error, and can use a schema that others created', async () => {
  const user = await newUser(url)
  const options = { url: user.url, schema: 'prepared' }
  const fault = await openingFault(options)
  expect(fault?.code).toBe('STORE_UNAVAILABLE')
  expect(fault?.message).toContain('lacks a right')

  await runSql(url, `CREATE SCHEMA prepared AUTHORIZATION ${user.name}`)
  expect(await openingFault(options)).toBeUndefined()
})

test('once the schema is up to date, the right to use it is enough', async () => {
  const user = await newUser(url)
  expect(await openingFault({ url, schema: 'shared' })).toBeUndefined()
  const options = { url: user.url, schema: 'shared' }
  expect((await openingFault(options))?.message).toContain('lacks a right')

  await runSql(
    url,
    `GRANT USAGE ON SCHEMA shared TO ${user.name};
     GRANT SELECT, INSERT, UPDATE, DELETE ON ALL TABLES IN SCHEMA shared TO ${user.name};
     GRANT USAGE ON ALL SEQUENCES IN SCHEMA shared TO ${user.name}`,
  )
  const { engine } = await fixture.open(options)
  fixture.work(engine, (lease) => lease.end({ status: 'completed', result: {} }))
  const { id } = await engine.create(newTask())
  await expect.poll(async () => (await engine.read(id, 'ann'))?.status).toBe('completed')
})

test('a read-only database is reported as that', async () => {
  const user = await newUser(url)
  expect(await openingFault({ url, schema: 'readable' })).toBeUndefined()
  await runSql(url, `ALTER USER ${user.name} SUPERUSER`)
  await runSql(url, `ALTER USER ${user.name} SET default_transaction_read_only = on`)
  const ledger = postgresLedger(fixture.connect({ url: user.url, schema: 'readable' }))
  const refusal = await ledger.claim('a', 60).catch((error: unknown) => error)
  expect(refusal).toMatchObject({ code: 'STORE_UNAVAILABLE' })
  expect(String(refusal)).toContain('read-only')
})
