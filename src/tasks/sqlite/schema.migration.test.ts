import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, expect, test } from 'vitest'
import { newTask } from '../../../test/tasks/contract/harness.ts'
import { sqliteEngine } from './engine.ts'

const folder = mkdtempSync(join(tmpdir(), 'pannier-earlier-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const host = { audience: 'a', logger: () => ({ debug() {}, info() {}, warn() {}, error() {} }) }

test('tasks of a file from before callers had turns are run, each counted for its owner', async () => {
  const path = join(folder, 'tasks.db')
  const before = sqliteEngine({ path })
  await before.open(host)
  const task = newTask()
  await before.create(task)
  await before.close()
  const database = new DatabaseSync(path)
  database.exec(`
    DROP INDEX tasks_ready_by_holder; DROP INDEX tasks_unfinished;
    DROP INDEX tasks_unfinished_of_member; ALTER TABLE tasks DROP COLUMN member; ALTER TABLE tasks DROP COLUMN holder; PRAGMA user_version = 4`)
  database.close()

  const engine = sqliteEngine({ path, maxTasksPerCaller: 1 })
  await engine.open(host)
  await expect(engine.create(newTask({ holder: 'ann' }))).rejects.toMatchObject({ code: 'TASK_LIMIT' })
  const leased = Promise.withResolvers<string>()
  const run = async (lease: Parameters<Parameters<typeof engine.work>[0]['run']>[0]) => {
    leased.resolve(lease.id)
    await lease.giveBack()
  }
  const working = engine.work({ tools: ['chore'], concurrency: 1, run })
  expect(await leased.promise).toBe(task.id)
  await working.stop()
  await engine.close()
})
