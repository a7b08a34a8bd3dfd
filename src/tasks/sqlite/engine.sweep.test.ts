import { expect, test, vi } from 'vitest'
import { newTask, question, ContractHarness } from '../../../test/tasks/contract/harness.ts'
import { newSqliteStore } from '../../../test/tasks/contract/sqliteStore.ts'

let nowMs = 1_000_000
const store = await newSqliteStore({ clock: () => nowMs })
const harness = new ContractHarness(async () => store)

const rowsIn = (table: string) => Number(store.sql(`SELECT count(*) AS rows FROM ${table}`)[0]?.['rows'])

test('expired tasks are removed from the file with all their rows, however many there are', async () => {
  const engine = await harness.engine()
  await Promise.all(Array.from({ length: 250 }, () => engine.create(newTask({ ttlMs: 1000, tool: 'unserved' }))))
  await engine.create(newTask({ ttlMs: 1000 }))
  const kept = await engine.create(newTask({ ttlMs: 100_000, tool: 'unserved' }))
  const worker = harness.worker(engine)
  const lease = await worker.nextLease()
  await lease.step('a', { value: 1 })
  await lease.ask([question('a')], 'own')
  expect(['tasks', 'calls', 'steps', 'questions'].map(rowsIn)).toEqual([252, 252, 1, 1])
  nowMs += 1000
  await vi.waitFor(() => expect(rowsIn('tasks')).toBe(1), 5000)
  expect(['calls', 'steps', 'questions'].map(rowsIn)).toEqual([1, 0, 0])
  expect(await engine.read(kept.id, 'ann')).toMatchObject({ ttlMs: 100_000 })
})

test('the number of a removed task is never used again', async () => {
  const engine = await harness.engine()
  const number = () => Number(store.sql('SELECT max(number) AS number FROM tasks')[0]?.['number'])
  await engine.create(newTask({ ttlMs: 1000 }))
  const before = number()
  nowMs += 1_000_000
  await vi.waitFor(() => expect(rowsIn('tasks')).toBe(0), 5000)
  await engine.create(newTask())
  expect(number()).toBeGreaterThan(before)
})

test('a task whose question was not answered in time fails, and keeps what became of it', async () => {
  const engine = await harness.engine()
  const { id } = await engine.create(newTask({ ttlMs: null, answerMs: 365 * 86_400_000 }))
  const approvers = { by: ['role:manager'], fourEyes: false }
  await (await harness.worker(engine).nextLease()).ask([question('a'), question('b', { approvers })], undefined)
  nowMs += 364 * 86_400_000
  expect((await engine.question(id, 'a', 'ann'))?.outcome).toEqual({ state: 'open' })
  nowMs += 86_400_000
  const failed = { status: 'failed', failure: { message: 'There was no answer in time.' } }
  await vi.waitFor(async () => expect(await engine.read(id, 'ann')).toMatchObject(failed), 5000)
  expect((await engine.question(id, 'b', undefined))?.outcome).toEqual({ state: 'expired', at: expect.any(Number) })
  expect(rowsIn('addressees')).toBe(0)
})
