import { inspect } from 'node:util'
import { beforeAll, expect, test } from 'vitest'
import { newDatabase, runSql } from '../../test/postgres/database.ts'
import { EngineFixture } from '../../test/postgres/engineFixture.ts'
import { openingFault, secret } from '../../test/postgres/users.ts'
import { newTask } from '../../test/tasks/contract/harness.ts'
import { postgresCarryStore } from './stores/carryStore.ts'
import { postgresLedger } from './stores/ledger.ts'

const fixture = new EngineFixture()
const corrupt = { code: 'STORE_CORRUPT' }
let url: string
beforeAll(async () => void (url = await newDatabase()))

test('a schema of a newer version is refused and left as it is', async () => {
  await openingFault({ url, schema: 'newer' })
  await runSql(url, 'UPDATE newer.schema_version SET version = 99')
  const fault = await openingFault({ url, schema: 'newer' })
  expect(fault?.code).toBe('STORE_NEWER')
  expect(fault?.message).toContain('99')
  expect(await runSql(url, 'SELECT version FROM newer.schema_version')).toEqual([{ version: 99 }])
})

test('a missing table is reported as damage', async () => {
  await openingFault({ url, schema: 'holes' })
  await runSql(url, 'DROP TABLE holes.ledger')
  const ledger = postgresLedger(fixture.connect({ url, schema: 'holes' }))
  await expect(ledger.claim('a', 60)).rejects.toMatchObject(corrupt)
})

test('a task with damaged rows fails at once, and its owner sees that', async () => {
  const { engine } = await fixture.open({ url, schema: 'given_up' })
  const { id } = await engine.create(newTask())
  await runSql(url, `UPDATE given_up.calls SET args = '{'`)
  const told = new Promise<void>((resolve) => fixture.onTestEnd(engine.watch(id, resolve)))
  fixture.work(engine, (lease) => lease.end({ status: 'completed', result: {} }))
  await told
  await expect.poll(async () => (await engine.read(id, 'ann'))?.status).toBe('failed')
  expect((await engine.read(id, 'ann'))?.failure?.message).toContain('cannot be read')
})

test('a damaged task is refused without being quoted, is left out of lists, and harms no other', async () => {
  const { engine } = await fixture.open({ url, schema: 'damaged' })
  const [good, bad] = [await engine.create(newTask()), await engine.create(newTask())]
  const damage = `{"secret": "${secret}`
  await runSql(url, 'UPDATE damaged.tasks SET message = $2 WHERE id = $1', [JSON.stringify(bad.id), damage])
  await runSql(
    url,
    'UPDATE damaged.calls SET args = $2 WHERE task = (SELECT number FROM damaged.tasks WHERE id = $1)',
    [JSON.stringify(bad.id), damage],
  )
  const refusal = await engine.read(bad.id, 'ann').catch((error: unknown) => error)
  expect(refusal).toMatchObject(corrupt)
  expect(inspect(refusal)).not.toContain(secret)
  const page = await engine.list('ann', undefined, 1)
  expect(page.tasks).toEqual([])
  expect((await engine.list('ann', page.next, 1)).tasks.map(({ id }) => id)).toEqual([good.id])
  fixture.work(engine, (lease) => lease.end({ status: 'completed', result: {} }))
  await expect.poll(async () => (await engine.read(good.id, 'ann'))?.status).toBe('completed')
  expect(fixture.logged).toContain('The stored data of a task is damaged; the task fails.')
  expect(await engine.cancel(good.id, 'ann')).toMatchObject({ status: 'completed' })
})

test('damaged rows of a ledger or a carry store are reported without being quoted', async () => {
  const connection = fixture.connect({ url })
  const [ledger, store] = [postgresLedger(connection), postgresCarryStore(connection)]
  await ledger.claim('a', 60)
  await ledger.settle('a', secret)
  await store.put('a', secret, Date.now() / 1000 + 60)
  await runSql(url, `UPDATE pannier.ledger SET value = left(value, -1)`)
  await runSql(url, `UPDATE pannier.carried SET token = left(token, -1)`)
  for (const refused of [() => ledger.claim('a', 60), () => store.get('a')]) {
    const refusal = await refused().catch((error: unknown) => error)
    expect(refusal).toMatchObject(corrupt)
    expect(inspect(refusal)).not.toContain(secret)
  }
})
