import { DatabaseSync } from 'node:sqlite'
import { expect, test, vi } from 'vitest'
import { answering, newTask, question, ContractHarness } from '../../../test/tasks/contract/harness.ts'
import { newSqliteStore } from '../../../test/tasks/contract/sqliteStore.ts'

const store = await newSqliteStore()
const harness = new ContractHarness(async () => store)
const done = { status: 'completed', result: {} } as const

/** Does everything that an engine can do, so that each of its statements is prepared. */
async function doEverything(): Promise<void> {
  const engine = await harness.engine({ leaseMs: 300, maxTasksPerCaller: 1 }, undefined, ['mail'])
  const worker = harness.worker(engine)
  const first = newTask({ member: 'm' })
  await engine.create(first)
  await expect(engine.create(newTask({ member: 'm' }))).rejects.toMatchObject({ code: 'TASK_LIMIT' })
  const lease = await worker.nextLease()
  await Promise.all([lease.step('a', {}), lease.note('half'), lease.claim('b')])
  await Promise.all([lease.claim('b'), lease.unclaim('b')])
  await lease.ask([question('a', { approvers: { by: ['bob'], fourEyes: false } })], undefined)
  await engine.awaiting(first.id)
  await engine.openQuestions({ owner: first.owner, names: ['bob', 'eve'], after: 0, limit: 10 })
  const [due] = await engine.notices.claim(1000)
  await engine.notices.postpone({ place: due!.question.place, channel: 'mail' }, 1000)
  await engine.notices.remove({ place: due!.question.place, channel: 'mail' })
  await engine.question(first.id, 'a', first.owner)
  await engine.sameCall(first.owner, 'same')
  await engine.forgetCall(first.id, first.owner)
  await engine.answer(first.id, undefined, answering('a'))
  await (await worker.nextLease()).giveBack()
  await (await worker.nextLease()).end(done)
  const { id } = await engine.create(newTask({ owner: 'bob' }))
  await engine.existing([id], 'bob')
  await engine.list('bob', id, 10)
  await worker.nextLease()
  await engine.cancel(id, 'bob')
  engine.watch(id, () => {})
  await engine.create(newTask({ ttlMs: 1, tool: 'unserved' }))
  await vi.waitFor(() => expect(store.sql('SELECT 1 FROM tasks WHERE expires_at < 1e12')).toEqual([]), 5000)
}

test('every statement finds its rows by an index, so that no task costs more because there are many', async () => {
  const prepare = vi.spyOn(DatabaseSync.prototype, 'prepare')
  await doEverything()
  await vi.waitFor(() => expect(prepare.mock.calls.some(([sql]) => sql.startsWith('WITH due'))).toBe(true), 5000)
  const all = new Set(prepare.mock.calls.map(([sql]) => sql))
  prepare.mockRestore()
  const statements = [...all].filter(
    (sql) =>
      /\b(tasks|calls|steps|questions|addressees|notices)\b/.test(sql) &&
      !/has_rows|rowid = 0|expires_at < 1e12/.test(sql),
  )
  const plans = statements.flatMap((sql) => store.sql(`EXPLAIN QUERY PLAN ${sql}`).map(({ detail }) => String(detail)))
  expect(statements.length).toBeGreaterThan(25)
  const scans = plans.filter((step) =>
    /^SCAN (t|s|q|c|a|n|tasks|calls|steps|questions|addressees|notices)\b/.test(step),
  )
  // The tasks that are held: as many as there are slots.
  expect(scans.filter((step) => !step.includes('USING INDEX tasks_by_worker'))).toEqual([])
  const byIndex = new Set(plans.flatMap((step) => /USING (?:COVERING )?INDEX (\w+)/.exec(step)?.[1] ?? []))
  const made = store.sql(`SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL`)
  // Only used where there are very many callers, or a foreign write.
  const rare = new Set(['tasks_by_change'])
  for (const { name } of made) if (!rare.has(String(name))) expect([...byIndex]).toContain(name)
})
