/** Whose tasks are run next, over a store in memory. */
import { afterEach, beforeEach, expect, test } from 'vitest'
import { newTask } from '../../../test/tasks/contract/harness.ts'
import { engineSettings } from '../engine.ts'
import { MAX_CALLERS } from '../fairness.ts'
import { createTask } from '../sql/create.ts'
import { ReadyTasks, readyTools } from '../sql/ready.ts'
import { keyOf, type TaskStore } from '../sql/store.ts'
import { SqliteDriver } from './driver.ts'

const NOW = 1_000_000
let store: TaskStore
let ready: ReadyTasks

beforeEach(() => {
  const driver = new SqliteDriver(':memory:', () => NOW)
  const logger = () => ({ debug() {}, info() {}, warn() {}, error() {} })
  store = { driver, sql: driver.sql, audience: 'mine', channels: [], settings: engineSettings({}), logger }
  ready = new ReadyTasks(store)
})
afterEach(() => store.driver.close())

/** Adds tasks of a caller, of which some are being run. */
async function add(holder: string, { count = 1, running = 0, tool = 'chore' } = {}): Promise<void> {
  for (let n = 0; n < count + running; n++) {
    const task = newTask({ owner: holder, holder, tool })
    await createTask(store, task)
    if (n >= count)
      await store.driver.change(`UPDATE tasks SET worker = 'w' WHERE address = $1`, [keyOf(store, task.id)])
  }
}

/** How many tasks of each caller are run next. */
async function next(slots: number, tool = 'chore'): Promise<Record<string, number>> {
  const { shares } = await store.driver.transaction(() => ready.pick(keyOf(store, tool), slots))
  return Object.fromEntries(Array.from(shares, ([holder, share]) => [(JSON.parse(holder) as string[])[1], share]))
}

const name = (n: number): string => `b${String(n).padStart(3, '0')}`

test('where there are too many callers to look at, each comes into view in turn', async () => {
  // The oldest tasks are all of one caller, and everybody but the last runs something already.
  await add('a', { count: MAX_CALLERS + 10, running: 1 })
  for (let n = 0; n < MAX_CALLERS; n++) await add(name(n), { running: 1 })
  await add('z')
  expect([await next(1), await next(1), await next(1)]).toEqual([{ a: 1 }, { z: 1 }, { a: 1 }])
})

test('fewer callers than are looked at are all seen at each time', async () => {
  for (let n = 2; n < MAX_CALLERS; n++) await add(name(n), { count: 3, running: 1 })
  await add('z')
  expect([await next(1), await next(1), await next(1)]).toEqual([{ z: 1 }, { z: 1 }, { z: 1 }])
})

test('a place in the row of callers is one by tool', async () => {
  for (const tool of ['chore', 'other']) {
    await add('a', { count: MAX_CALLERS + 10, running: 1, tool })
    for (let n = 0; n < MAX_CALLERS; n++) await add(name(n), { running: 1, tool })
    await add('z', { tool })
  }
  expect([await next(1), await next(1, 'other'), await next(1, 'other')]).toEqual([{ a: 1 }, { a: 1 }, { z: 1 }])
})

test('slots go to the callers with the fewest running tasks, and no caller gets more than there are slots', async () => {
  await add('ann', { count: 5, running: 2 })
  await add('bob', { count: 5 })
  expect([await next(2), await next(4)]).toEqual([{ bob: 2 }, { bob: 3, ann: 1 }])
})

test('tools with tasks to run are found, and expired tasks and suspects in their pause are none', async () => {
  const tools = ['chore', 'expired', 'paused', 'suspect', 'none']
  for (const tool of tools.slice(0, -1)) await add('ann', { tool })
  const set = (assignment: string, tool: string) =>
    store.driver.change(`UPDATE tasks SET ${assignment} WHERE tool_key = $1`, [keyOf(store, tool)])
  await set(`expires_at = ${NOW - 60_000}`, 'expired')
  await set(`attempts = 2, retry_at = ${NOW + 60_000}`, 'paused')
  await set(`attempts = 2, retry_at = ${NOW}`, 'suspect')
  const found = await readyTools(
    store,
    tools.map((tool) => keyOf(store, tool)),
  )
  expect(found).toEqual(['chore', 'suspect'].map((tool) => keyOf(store, tool)))
  expect(await next(5, 'expired')).toEqual({})
})
