import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { answering, newTask } from '../../../test/tasks/contract/harness.ts'
import { ManualWorker } from '../../../test/tasks/contract/manualWorker.ts'
import { openSqliteFile } from '../../state/stores/index.ts'
import { sqliteEngine } from './engine.ts'
import { TASK_FILE } from './schema.ts'

const folder = mkdtempSync(join(tmpdir(), 'pannier-earlier-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

const host = { audience: 'a', logger: () => ({ debug() {}, info() {}, warn() {}, error() {} }) }

/** A file of an earlier version, with what SQL adds. */
function earlierFile(version: number, sql: string): string {
  const path = join(folder, `version-${version}.db`)
  const database = openSqliteFile(path, { ...TASK_FILE, migrations: TASK_FILE.migrations.slice(0, version) })
  database.exec(sql)
  database.close()
  return path
}

test('tasks of a file from before callers had turns are run, each counted for its owner', async () => {
  const path = earlierFile(
    4,
    `INSERT INTO tasks (audience, id, owner, call, tool, status, round, created_at, updated_at, change, epoch, losses)
       VALUES ('"a"', '"one"', '"ann"', '"call"', '"chore"', 'working', 0, 1, 1, 1, 0, 0);
     INSERT INTO calls (task, args, caller) VALUES (1, '{"n":1}', '{}')`,
  )
  const engine = sqliteEngine({ path, maxTasksPerCaller: 1 })
  await engine.open(host)
  await expect(engine.create(newTask({ holder: 'ann' }))).rejects.toMatchObject({ code: 'TASK_LIMIT' })
  const worker = new ManualWorker(engine, ['chore'], 1)
  const lease = await worker.nextLease()
  expect(lease).toMatchObject({ id: 'one', tool: 'chore', args: { n: 1 } })
  await lease.giveBack()
  await engine.close()
})

test('tasks of a file from before there was one engine are read, answered and run with their journals', async () => {
  const path = earlierFile(
    7,
    `INSERT INTO tasks (number, audience, id, owner, holder, member, call, tool, status, round, created_at, updated_at,
         change, worker, epoch, losses)
       VALUES (1, '"a"', '"asked"', '"ann"', '"net"', '"ann"', '"c1"', '"chore"', 'input_required', 1, 1, 2, 1, NULL, 2, 0),
              (2, '"a"', '"held"', '"ann"', '"net"', NULL, '"c2"', '"chore"', 'working', 0, 1, 2, 1, 'w', 1, 1);
     INSERT INTO workers (id, machine, pid, started, lease_ms, beat) VALUES ('w', 'm', 1, '1', 1000, 1);
     INSERT INTO calls (task, args, caller) VALUES (1, '{}', '{}'), (2, '{}', '{}');
     INSERT INTO steps (task, key, done, value) VALUES (1, '"first"', 1, '7'), (2, '"claimed"', 0, NULL);
     INSERT INTO asks (task, wire_key, key, question, times, state, request)
       VALUES (1, '"b"', '"b"', NULL, 1, 'open', '{"method":"elicitation/create"}')`,
  )
  const engine = sqliteEngine({ path })
  await engine.open(host)
  expect(await engine.read('asked', 'bob')).toBeUndefined()
  expect(await engine.read('asked', 'ann')).toMatchObject({ status: 'input_required', createdAt: 1, updatedAt: 2 })
  expect((await engine.list('ann', undefined, 10)).tasks.map(({ id }) => id)).toEqual(['held', 'asked'])
  const worker = new ManualWorker(engine, ['chore'], 2)
  const held = await worker.nextLease()
  expect([held.id, held.journal.id, await held.claim('claimed')]).toEqual(['held', 'c2', 'running'])
  await engine.answer('asked', 'ann', answering('b'))
  const { id, journal } = await worker.nextLease()
  expect([id, journal.id, journal.steps]).toEqual(['asked', 'c1', new Map([['first', { value: 7 }]])])
  expect([...journal.answers.keys()]).toEqual(['b'])
  await engine.close()
})
