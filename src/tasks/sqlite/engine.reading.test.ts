import { StatementSync } from 'node:sqlite'
import { expect, test, vi } from 'vitest'
import { proves } from '../../../test/proves.ts'
import { newTask, question, ContractHarness } from '../../../test/tasks/contract/harness.ts'
import type { TaskEngine } from '../engine.ts'
import { sqliteEngine } from './engine.ts'
import { newSqliteStore } from '../../../test/tasks/contract/sqliteStore.ts'

const harness = new ContractHarness(newSqliteStore)

/** The statements that something runs. */
async function statementsOf(run: () => Promise<unknown>): Promise<string[]> {
  const spies = (['get', 'all', 'run'] as const).map((method) => vi.spyOn(StatementSync.prototype, method))
  await run()
  const statements = spies.flatMap((spy) => spy.mock.contexts as StatementSync[])
  for (const spy of spies) spy.mockRestore()
  return statements.map(({ sourceSQL }) => sourceSQL)
}

async function tasksOfEveryStatus(engine: TaskEngine): Promise<string[]> {
  const worker = harness.worker(engine)
  const ready = await engine.create(newTask({ tool: 'unserved' }))
  const ids = [ready.id]
  for (const turn of ['run', 'ask', 'complete', 'fail', 'cancel'] as const) {
    ids.push((await engine.create(newTask())).id)
    const lease = await worker.nextLease()
    if (turn === 'ask') await lease.ask([question('a'), question('b')], undefined)
    if (turn === 'complete') await lease.end({ status: 'completed', result: {} })
    if (turn === 'fail') await lease.end({ status: 'failed', failure: { code: 1, message: 'x' } })
    if (turn !== 'cancel') continue
    await engine.cancel(lease.id, 'ann')
    await vi.waitFor(() => expect(lease.signal.aborted).toBe(true))
  }
  return ids
}

proves('MRTR-37', 'reading a task takes the same work whatever its status, and if there is none', async () => {
  const engine = await harness.engine({ leaseMs: 60_000 })
  const ids = await tasksOfEveryStatus(engine)
  const statuses = new Set<string | undefined>()
  const works: string[][] = []
  for (const [id, owner] of [...ids.map((id) => [id, 'ann']), [ids[0], 'bob'], ['unknown', 'ann']] as [
    string,
    string,
  ][]) {
    works.push(await statementsOf(async () => statuses.add((await engine.read(id, owner))?.status)))
  }
  expect(statuses).toEqual(new Set(['working', 'input_required', 'completed', 'failed', 'cancelled', undefined]))
  for (const work of works) expect(work).toEqual(works[0])
  expect(works[0]).toHaveLength(1)
})

test('a store in memory works like one in a file', async () => {
  const engine = sqliteEngine({ path: ':memory:' })
  await engine.open({ audience: 'a', logger: () => ({ debug() {}, info() {}, warn() {}, error() {} }) })
  harness.onTestEnd(() => engine.close())
  const { id } = await engine.create(newTask())
  await (await harness.worker(engine).nextLease()).end({ status: 'completed', result: { ok: true } })
  expect(await engine.read(id, 'ann')).toMatchObject({ status: 'completed', result: { ok: true } })
})
