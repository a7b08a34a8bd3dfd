import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, expect, onTestFinished, test, vi } from 'vitest'
import { leaseLost } from '../errors.ts'
import { WriteQueue } from './writeQueue.ts'

const folder = mkdtempSync(join(tmpdir(), 'pannier-commits-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
let files = 0

/** `lockWaitMs`: long, so that a busy machine is not taken for a lock that is never released. */
function newFile(lockWaitMs = 20_000) {
  const path = join(folder, `file-${++files}.db`)
  const [database, outside] = [new DatabaseSync(path), new DatabaseSync(path)]
  database.exec('PRAGMA journal_mode = WAL; CREATE TABLE notes (text TEXT PRIMARY KEY) STRICT')
  const note = database.prepare('INSERT INTO notes VALUES (?)')
  const exec = vi.spyOn(database, 'exec')
  const commits = new WriteQueue(database, lockWaitMs)
  return {
    commits,
    database,
    outside,
    committed: () => exec.mock.calls.filter(([text]) => text === 'COMMIT').length,
    put: (text: string) => commits.write(() => void note.run(text)),
    run: (text: string) => void note.run(text),
    kept: () =>
      outside
        .prepare('SELECT text FROM notes ORDER BY text')
        .all()
        .map(({ text }) => text),
  }
}

test('writes of one turn of the event loop are committed together, before their promises resolve', async () => {
  const { put, kept, committed } = newFile()
  const writes = [put('a'), put('b'), put('c')]
  expect(kept()).toEqual([])
  await writes[0]
  expect(kept()).toEqual(['a', 'b', 'c'])
  expect(committed()).toBe(1)
  await Promise.all(writes)
})

test('a write that is queued by a running write is committed with it', async () => {
  const { commits, put, run, kept, committed } = newFile()
  let inner: Promise<unknown> | undefined
  await commits.write(() => {
    run('outer')
    inner = put('inner')
  })
  expect(kept()).toEqual(['inner', 'outer'])
  await inner
  expect(committed()).toBe(1)
})

test('a write that refuses leaves the others in their commit', async () => {
  const { commits, put, kept, committed } = newFile()
  const refused = commits.write(() => {
    throw leaseLost('taken')
  })
  const writes = await Promise.allSettled([put('a'), refused, put('b')])
  expect(writes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  await expect(refused).rejects.toMatchObject({ code: 'LEASE_LOST' })
  expect(kept()).toEqual(['a', 'b'])
  expect(committed()).toBe(1)
})

test('a write that fails is rolled back alone', async () => {
  const { commits, put, run, kept } = newFile()
  const failing = commits.write(() => {
    run('half')
    run('half')
  })
  const writes = await Promise.allSettled([put('a'), failing, put('b')])
  expect(writes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  await expect(failing).rejects.toMatchObject({ name: 'StateError', code: 'STORE_UNAVAILABLE' })
  expect(kept()).toEqual(['a', 'b'])
})

test('what does not fit on the disk is refused, and what fits is kept', async () => {
  const { database, put, kept } = newFile()
  database.exec('PRAGMA max_page_count = 20')
  const large = 'x'.repeat(200_000)
  const writes = await Promise.allSettled([put('a'), put(large), put('b')])
  expect(writes.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'fulfilled'])
  expect(writes[1]).toMatchObject({ reason: { code: 'STORE_FULL' } })
  await expect(put(large)).rejects.toThrow(/disk of the file is full; make room/)
  expect(kept()).toEqual(['a', 'b'])
})

test('writes wait while another process has locked the file, and are then made in order', async () => {
  const { outside, commits, put, kept } = newFile()
  outside.exec('BEGIN IMMEDIATE')
  const order: string[] = []
  const writes = ['a', 'b'].map((text) => put(text).then(() => order.push(text)))
  await vi.waitFor(() => expect(commits.isLocked).toBe(true))
  writes.push(put('c').then(() => order.push('c')))
  outside.exec('ROLLBACK')
  await Promise.all(writes)
  expect(order).toEqual(['a', 'b', 'c'])
  expect(kept()).toEqual(['a', 'b', 'c'])
  expect(commits.isLocked).toBe(false)
})

test('a write that has waited too long for the lock fails, and later ones go on waiting', async () => {
  const { outside, put, kept } = newFile(100)
  const clock = vi.spyOn(performance, 'now').mockReturnValue(0)
  onTestFinished(() => clock.mockRestore())
  outside.exec('BEGIN IMMEDIATE')
  const first = put('a')
  clock.mockReturnValue(50)
  const second = put('b')
  clock.mockReturnValue(101)
  await expect(first).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  outside.exec('ROLLBACK')
  await second
  expect(kept()).toEqual(['b'])
})

test('closing waits for the lock', async () => {
  const { commits, outside, put, kept } = newFile()
  outside.exec('BEGIN IMMEDIATE')
  const write = put('a')
  const closed = commits.close()
  setImmediate(() => outside.exec('ROLLBACK'))
  await closed
  await write
  expect(kept()).toEqual(['a'])
})

test('a file that became read-only says so', async () => {
  const { database, put, kept } = newFile()
  database.exec('PRAGMA query_only = 1')
  await expect(put('a')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  await expect(put('a')).rejects.toThrow(/read-only; make it and its folder writable/)
  database.exec('PRAGMA query_only = 0')
  await put('b')
  expect(kept()).toEqual(['b'])
})

test('more writes than fit into one transaction are all made, in order', async () => {
  const { commits, put, committed } = newFile()
  const order: number[] = []
  await Promise.all(Array.from({ length: 450 }, (_, at) => commits.write(() => void order.push(at))))
  await put('last')
  expect(order).toEqual(Array.from({ length: 450 }, (_, at) => at))
  expect(committed()).toBe(4)
})

test('closing commits the queued writes and refuses later ones', async () => {
  const { commits, put, kept } = newFile()
  const write = put('a')
  const closed = commits.close()
  expect(kept()).toEqual(['a'])
  await closed
  await write
  await expect(put('b')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
})

test('what a close has committed is told once, and nothing is done after that', async () => {
  const { commits, put, kept, committed } = newFile()
  const written = put('a')
  await commits.close()
  await written
  await new Promise((resolve) => setImmediate(resolve))
  expect([kept(), committed()]).toEqual([['a'], 1])
  await expect(put('b')).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
})
