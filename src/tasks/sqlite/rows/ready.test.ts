import { afterEach, beforeEach, expect, test } from 'vitest'
import { newTask } from '../../../../test/tasks/contract/harness.ts'
import { engineSettings } from '../../engine.ts'
import { MAX_CALLERS } from '../../fairness.ts'
import { openTaskFile } from '../schema.ts'
import type { SqliteTaskStore } from '../store.ts'
import { WriteQueue } from '../writeQueue.ts'
import { Tables } from './tables.ts'

const silent = { debug() {}, info() {}, warn() {}, error() {} }
const NOW = 1_000_000
let store: SqliteTaskStore
let tables: Tables

beforeEach(() => {
  const database = openTaskFile(':memory:')
  const writes = new WriteQueue(database, { onCommit: () => {} })
  store = { database, writes, audience: '"mine"', settings: engineSettings({}), now: () => NOW, logger: () => silent }
  tables = new Tables(store)
})
afterEach(async () => {
  await store.writes.close()
  store.database.close()
})

/** Adds tasks of a caller, of which some are being run. */
function add(holder: string, { ready = 1, running = 0, tool = 'chore', ttlMs = 60_000 } = {}): void {
  const { newTasks } = tables
  for (let n = 0; n < ready; n++) newTasks.add(newTasks.prepare(newTask({ owner: holder, holder, tool, ttlMs })))
  for (let n = 0; n < running; n++) {
    const { id } = newTasks.add(newTasks.prepare(newTask({ owner: holder, holder, tool }))) ?? {}
    store.database.prepare(`UPDATE tasks SET worker = 'w' WHERE id = ?`).run(JSON.stringify(id))
  }
}

/** The callers whose tasks are run next. */
function next(limit: number, ...tools: string[]): string[] {
  const names = new Set((tools.length === 0 ? ['chore'] : tools).map((tool) => JSON.stringify(tool)))
  const holderOf = store.database.prepare('SELECT holder FROM tasks WHERE number = ?')
  const numbers = tables.ready.next(names, limit).map(({ number }) => Number(number))
  expect(numbers).toEqual(numbers.toSorted((one, other) => one - other))
  return numbers.map((number) => JSON.parse(String(holderOf.get(number)?.['holder'])) as string)
}

const name = (n: number): string => `b${String(n).padStart(3, '0')}`

test('where there are too many callers to look at, each comes into view in turn', () => {
  // The oldest tasks are all of one caller, and everybody but the last runs something already.
  add('a', { ready: MAX_CALLERS + 10, running: 1 })
  for (let n = 0; n < MAX_CALLERS; n++) add(name(n), { running: 1 })
  add('z')
  expect([next(1), next(1), next(1)]).toEqual([['a'], ['z'], ['a']])
})

test('whoever has waited longest is in view from the first time on, at the end of the row, too', () => {
  add('z')
  for (let n = 0; n < MAX_CALLERS; n++) add(name(n))
  expect(next(1)).toEqual(['z'])
})

test('fewer callers than are looked at are all seen at each time', () => {
  for (let n = 2; n < MAX_CALLERS; n++) add(name(n), { ready: 3, running: 1 })
  add('z')
  expect([next(1), next(1), next(1)]).toEqual([['z'], ['z'], ['z']])
})

test('a place in the row of callers is one by tool', () => {
  for (const tool of ['chore', 'other']) {
    add('a', { ready: MAX_CALLERS + 10, running: 1, tool })
    for (let n = 0; n < MAX_CALLERS; n++) add(name(n), { running: 1, tool })
    add('z', { tool })
  }
  expect([next(1), next(1, 'other'), next(1, 'other')]).toEqual([['a'], ['a'], ['z']])
})

test('slots go to the callers with the fewest running tasks, and no caller gets more than there are slots', () => {
  add('ann', { ready: 5, running: 2 })
  add('bob', { ready: 5 })
  expect([next(2), next(4)]).toEqual([
    ['bob', 'bob'],
    ['ann', 'bob', 'bob', 'bob'],
  ])
})

test('tasks of several tools are taken in their order, and expired ones never', () => {
  add('ann', { tool: 'other' })
  add('ann')
  add('ann', { tool: 'unserved' })
  store.database.exec(`UPDATE tasks SET expires_at = ${NOW} WHERE tool = '"unserved"'`)
  expect(next(5, 'chore', 'other')).toEqual(['ann', 'ann'])
  expect(next(5, 'unserved')).toEqual([])
  const isAny = (...tools: string[]) => tables.ready.isAny(tools.map((tool) => JSON.stringify(tool)))
  expect([isAny('chore'), isAny('unserved'), isAny('unserved', 'other'), isAny('none'), isAny()]).toEqual([
    true,
    false,
    true,
    false,
    false,
  ])
})
