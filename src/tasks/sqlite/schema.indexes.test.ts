import { DatabaseSync } from 'node:sqlite'
import { expect, test, vi } from 'vitest'
import { newTask, ContractHarness } from '../../../test/tasks/contract/harness.ts'
import { newSqliteStore } from '../../../test/tasks/contract/sqliteStore.ts'

const store = await newSqliteStore()
const harness = new ContractHarness(async () => store)

test('every statement finds its rows by an index, so that no task costs more because there are many', async () => {
  const prepare = vi.spyOn(DatabaseSync.prototype, 'prepare')
  const engine = await harness.engine()
  const statements = prepare.mock.calls.map(([sql]) => sql).filter((sql) => /\b(tasks|calls|steps|asks)\b/.test(sql))
  prepare.mockRestore()
  await engine.create(newTask())
  const plans = statements.flatMap((sql) => store.sql(`EXPLAIN QUERY PLAN ${sql}`).map(({ detail }) => String(detail)))
  expect(statements.length).toBeGreaterThan(25)
  expect(plans.filter((step) => step.startsWith('SCAN'))).toEqual([])
  const byIndex = new Set(plans.flatMap((step) => /USING (?:COVERING )?INDEX (\w+)/.exec(step)?.[1] ?? []))
  const made = store.sql(`SELECT name FROM sqlite_schema WHERE type = 'index' AND sql IS NOT NULL`)
  for (const { name } of made) expect([...byIndex]).toContain(name)
  const changes = plans.find((step) => step.includes('tasks_by_change'))
  expect(changes).toContain('audience=? AND change>?')
})
