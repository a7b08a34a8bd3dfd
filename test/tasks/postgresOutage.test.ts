import { afterAll, beforeAll, expect, test, vi } from 'vitest'
import { answering, newTask, question } from './contract/harness.ts'
import type { Lease, TaskEngine } from '../../src/tasks/engine.ts'
import { postgresLedger } from '../../src/postgres/stores/ledger.ts'
import { EngineFixture } from '../postgres/engineFixture.ts'
import { PostgresServer } from '../postgres/server.ts'

const done = { status: 'completed', result: { done: true } } as const
const away = { code: 'STORE_UNAVAILABLE' }
const fixture = new EngineFixture()
let server: PostgresServer

beforeAll(async () => void (server = await PostgresServer.start()))
afterAll(() => server.end())

/** Works until the test is over, and gives each lease to the test. */
function leases(engine: TaskEngine): () => Promise<Lease> {
  const given: Lease[] = []
  const over = Promise.withResolvers<void>()
  let isThere: () => void = () => {}
  fixture.work(engine, (lease) => {
    given.push(lease)
    isThere()
    return over.promise
  })
  fixture.onTestEnd(() => over.resolve())
  return async () => {
    for (;;) {
      const lease = given.shift()
      if (lease !== undefined) return lease
      await new Promise<void>((resolve) => (isThere = resolve))
    }
  }
}

test('what is under way when the database stops is refused, and goes on when it is back', async () => {
  const { engine, connection } = await fixture.open({ url: server.url() }, { leaseMs: 60_000 })
  const ledger = postgresLedger(connection)
  const next = leases(engine)
  const running = await engine.create(newTask())
  const lease = await next()
  await lease.step('before', { value: 1 })

  await server.stop()
  const refusals = await Promise.allSettled([
    engine.create(newTask()),
    engine.read(running.id, 'ann'),
    engine.list('ann', undefined, 10),
    engine.answer(running.id, 'ann', answering('a')),
    engine.cancel(running.id, 'ann'),
    lease.step('during', { value: 2 }),
    lease.claim('during'),
    lease.end(done),
    ledger.claim('during', 60),
  ])
  for (const refusal of refusals) expect(refusal).toMatchObject({ status: 'rejected', reason: away })
  expect(lease.signal.aborted).toBe(false)
  await vi.waitFor(() => expect(fixture.logged).toContain('The task store fails; the job is tried again.'), 10_000)

  await server.restart()
  await lease.step('after', { value: 3 })
  await lease.ask([question('a')], undefined)
  await vi.waitFor(async () => expect(await engine.answer(running.id, 'ann', answering('a'))).toBeDefined())
  const again = await next()
  expect([...again.journal.steps.keys()].toSorted()).toEqual(['after', 'before'])
  await again.end(done)
  expect(await engine.read(running.id, 'ann')).toMatchObject({ status: 'completed', result: { done: true } })
  expect((await engine.list('ann', undefined, 10)).tasks).toHaveLength(1)
  expect(await ledger.claim('during', 60)).toEqual({ state: 'fresh' })
  await vi.waitFor(() => expect(fixture.logged).toContain('The task store works again.'), 10_000)
})

test('an engine that is opened while the database is away can be opened when it is back', async () => {
  await server.stop()
  const connection = fixture.connect({ url: server.url(), schema: 'late' })
  await expect(fixture.openOn(connection)).rejects.toMatchObject(away)
  await server.restart()
  const engine = await fixture.openOn(connection)
  expect(await engine.create(newTask())).toMatchObject({ status: 'working' })
})
