/** Files that cannot be used, or not wholly: a clear error each, and no task is harmed by another. */
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { inspect } from 'node:util'
import { afterAll, expect, test, vi } from 'vitest'
import { answering, newTask, question, ContractHarness } from '../../../test/tasks/contract/harness.ts'
import { sqliteEngine } from './engine.ts'
import { newSqliteStore } from '../../../test/tasks/contract/sqliteStore.ts'

const folder = mkdtempSync(join(tmpdir(), 'pannier-bad-stores-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
let files = 0
const newPath = () => join(folder, `file-${++files}.db`)

const store = await newSqliteStore()
const harness = new ContractHarness(async () => store)
const silent = { debug() {}, info() {}, warn() {}, error() {} }

async function openAt(path: string) {
  const engine = sqliteEngine({ path })
  await engine.open({ audience: 'a', logger: () => silent })
  return engine
}

async function makeAt(path: string): Promise<void> {
  await (await openAt(path)).close()
}

function alter(path: string, sql: string): void {
  const database = new DatabaseSync(path)
  database.exec(sql)
  database.close()
}

/** Root may do everything, so rights are tried as somebody else. */
async function asNobody<T>(run: () => Promise<T>): Promise<T> {
  if (process.geteuid?.() !== 0) return run()
  process.seteuid?.(65_534)
  try {
    return await run()
  } finally {
    process.seteuid?.(0)
  }
}

test('only the owner may read the file', async () => {
  const path = newPath()
  await makeAt(path)
  expect(statSync(path).mode & 0o777).toBe(0o600)
})

test.each([
  ['of a newer version', 'PRAGMA user_version = 99', 'STORE_NEWER', /schema 99, this version knows 1; upgrade/],
  ['of another program', 'PRAGMA application_id = 7', 'STORE_CORRUPT', /not a task store/],
  ['without a table', 'DROP TABLE questions', 'STORE_CORRUPT', /damaged; restore it/],
])('a file %s is refused and left as it is', async (_, sql, code, message) => {
  const path = newPath()
  await makeAt(path)
  alter(path, sql)
  const before = readFileSync(path)
  await expect(openAt(path)).rejects.toMatchObject({ code })
  await expect(openAt(path)).rejects.toThrow(message)
  expect(readFileSync(path).equals(before)).toBe(true)
})

test('a file that is no database is refused and left as it is', async () => {
  const path = newPath()
  writeFileSync(path, 'notes about something else\n'.repeat(100))
  await expect(openAt(path)).rejects.toMatchObject({ code: 'STORE_CORRUPT' })
  expect(readFileSync(path, 'utf8')).toBe('notes about something else\n'.repeat(100))
})

test('a file that this process may only read is refused', async () => {
  chmodSync(folder, 0o755)
  const path = newPath()
  await makeAt(path)
  chmodSync(path, 0o444)
  const open = () => asNobody(() => openAt(path))
  await expect(open()).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  await expect(open()).rejects.toThrow(/writable/)
})

test('a file in a folder that does not exist is refused with that reason', async () => {
  const path = join(folder, 'no', 'tasks.db')
  const opening = openAt(path)
  await expect(opening).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  await expect(opening).rejects.toThrow(`The task store ${path} cannot be used. `)
  await expect(opening).rejects.toThrow(/check that its folder exists/)
})

test('a disk that is full refuses what does not fit; when there is room, the same run goes on', async () => {
  const exec = vi.spyOn(DatabaseSync.prototype, 'exec')
  const engine = await harness.engine()
  const database = exec.mock.contexts.at(-1) as DatabaseSync
  exec.mockRestore()
  await engine.create(newTask())
  const lease = await harness.worker(engine).nextLease()
  const pages = Number(database.prepare('PRAGMA page_count').get()?.['page_count'])
  database.exec(`PRAGMA max_page_count = ${pages + 2}`)
  const large = { value: 'x'.repeat(100_000) }
  await expect(lease.step('large', large)).rejects.toMatchObject({ code: 'STORE_FULL' })
  await lease.step('small', { value: 1 })
  expect(lease.signal.aborted).toBe(false)
  database.exec('PRAGMA max_page_count = 1000000')
  await lease.step('large', large)
  await lease.end({ status: 'completed', result: {} })
  expect(await engine.read(lease.id, 'ann')).toMatchObject({ status: 'completed' })
})

test('a damaged task is refused without being quoted, is left out of lists, and can be cancelled', async () => {
  const engine = await harness.engine()
  const [good, bad] = [await engine.create(newTask()), await engine.create(newTask())]
  store.sql(`UPDATE tasks SET status = 'completed', outcome = 'secret {' WHERE id = '"${bad.id}"'`)
  const error: unknown = await engine.read(bad.id, 'ann').catch((reason: unknown) => reason)
  expect(error).toMatchObject({ code: 'STORE_CORRUPT' })
  expect(inspect(error)).not.toContain('secret')
  expect((await engine.list('ann', undefined, 10)).tasks.map(({ id }) => id)).toEqual([good.id])
  const page = await engine.list('ann', undefined, 1)
  expect(page.tasks).toEqual([])
  expect((await engine.list('ann', page.next, 1)).tasks.map(({ id }) => id)).toEqual([good.id])
  expect(await engine.read(good.id, 'ann')).toMatchObject({ status: 'working' })
})

test.each([
  ['arguments', `UPDATE calls SET args = '['`],
  ['caller', `UPDATE calls SET caller = '7'`],
  ['memory', `UPDATE calls SET own = '{'`],
  ['steps', `UPDATE steps SET value = 'x'`],
  ['answers', `UPDATE questions SET response = '[]'`],
])('a task whose %s cannot be read fails, and the tasks behind it run', async (_, damage) => {
  const engine = await harness.engine()
  const { id } = await engine.create(newTask())
  const worker = harness.worker(engine)
  const lease = await worker.nextLease()
  await lease.step('a', { value: 1 })
  await lease.ask([question('a')], 'own')
  await engine.answer(id, 'ann', answering('a'))
  await worker.nextLease()
  await engine.close()
  store.sql(`${damage} WHERE task = (SELECT number FROM tasks WHERE id = '"${id}"')`)

  const reopened = await harness.engine()
  const behind = await reopened.create(newTask())
  expect((await harness.worker(reopened).nextLease()).id).toBe(behind.id)
  expect(await reopened.read(id, 'ann')).toMatchObject({ status: 'failed', failure: { code: -32603 } })
})

test('a table that is missing for a while fails no task', async () => {
  const engine = await harness.engine()
  const { id } = await engine.create(newTask())
  store.sql('ALTER TABLE steps RENAME TO elsewhere')
  // Tasks that are created within two milliseconds are checked once.
  await vi.waitFor(() => expect(engine.create(newTask())).rejects.toMatchObject({ code: 'STORE_CORRUPT' }))
  const worker = harness.worker(engine)
  await vi.waitFor(() => expect(engine.trouble()).toMatchObject({ code: 'STORE_CORRUPT' }))
  store.sql('ALTER TABLE elsewhere RENAME TO steps')
  expect((await worker.nextLease()).id).toBe(id)
  await vi.waitFor(() => expect(engine.trouble()).toBeUndefined())
})

test('a task with a question that cannot be read can be cancelled', async () => {
  const engine = await harness.engine()
  const { id } = await engine.create(newTask())
  await (await harness.worker(engine).nextLease()).ask([question('a')], undefined)
  store.sql(`UPDATE questions SET request = '{' WHERE task = (SELECT number FROM tasks WHERE id = '"${id}"')`)
  await expect(engine.read(id, 'ann')).rejects.toMatchObject({ code: 'STORE_CORRUPT' })
  expect(await engine.cancel(id, 'ann')).toMatchObject({ status: 'cancelled' })
})

test('an engine that is not open, or was closed, refuses to be used', async () => {
  const engine = sqliteEngine({ path: newPath() })
  const closed = { code: 'STORE_UNAVAILABLE' }
  await expect(engine.create(newTask())).rejects.toMatchObject(closed)
  await engine.open({ audience: 'a', logger: () => silent })
  await engine.close()
  await engine.close()
  await expect(engine.read('x', 'ann')).rejects.toMatchObject(closed)
  await expect(engine.cancel('x', 'ann')).rejects.toMatchObject(closed)
})

test.each([
  { leaseMs: 0 },
  { leaseMs: 1.5 },
  { leaseMs: 1e10 },
  { keepMs: -1 },
  { maxLosses: Number.NaN },
  { maxEntryBytes: 10 },
])('the option %j is refused', (option) => {
  expect(() => sqliteEngine({ path: ':memory:', ...option })).toThrow(Object.keys(option)[0])
})

test('a failing store is logged once, and so is its recovery', async () => {
  const log = vi.fn<(details: object, message: string) => void>()
  const path = newPath()
  const engine = sqliteEngine({ path, leaseMs: 100 })
  await engine.open({ audience: 'a', logger: () => ({ ...silent, error: log, info: log }) })
  engine.work({ tools: ['chore'], concurrency: 1, run: async () => {} })
  alter(path, 'ALTER TABLE steps RENAME TO elsewhere')
  await vi.waitFor(() => expect(log).toHaveBeenCalledWith(expect.anything(), expect.stringContaining('fails')))
  const told = log.mock.calls.length
  alter(path, 'ALTER TABLE elsewhere RENAME TO steps')
  await vi.waitFor(() => expect(log).toHaveBeenLastCalledWith(expect.anything(), expect.stringContaining('again')))
  expect(told).toBeLessThan(5)
  await engine.close()
})
