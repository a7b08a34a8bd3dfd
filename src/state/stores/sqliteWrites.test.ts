import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { afterAll, expect, test } from 'vitest'
import { SqliteWrites } from './sqliteWrites.ts'

const folder = mkdtempSync(join(tmpdir(), 'pannier-writes-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))
let files = 0

function newFile(lockWaitMs: number) {
  const path = join(folder, `file-${++files}.db`)
  const [database, outside] = [new DatabaseSync(path), new DatabaseSync(path)]
  database.exec('PRAGMA journal_mode = WAL; CREATE TABLE notes (number INTEGER PRIMARY KEY, text TEXT) STRICT')
  const writes = new SqliteWrites(database, lockWaitMs)
  const note = database.prepare('INSERT INTO notes (text) VALUES (?)')
  return {
    database,
    put: (text: string) => writes.run(() => void note.run(text)),
    lock: () => outside.exec('BEGIN IMMEDIATE'),
    unlock: () => outside.exec('ROLLBACK'),
    kept: () =>
      outside
        .prepare('SELECT text FROM notes ORDER BY number')
        .all()
        .map(({ text }) => text),
  }
}

test('a write to a file that is not locked is made at once, without a promise', () => {
  const { put, kept } = newFile(1000)
  expect(put('a')).toBeUndefined()
  expect(kept()).toEqual(['a'])
})

test('writes to a locked file wait, and none overtakes another', async () => {
  const { put, kept, lock, unlock } = newFile(10_000)
  lock()
  const first = put('a')
  unlock()
  await Promise.all([first, put('b'), put('c')])
  expect(kept()).toEqual(['a', 'b', 'c'])
})

test('a write fails when the file stays locked, with an error that says what to do, and the next is tried anew', async () => {
  const { put, kept, lock, unlock } = newFile(30)
  lock()
  await expect(put('a')).rejects.toMatchObject({
    code: 'STORE_UNAVAILABLE',
    message: expect.stringContaining('resume it or end it, and try again'),
  })
  unlock()
  await put('b')
  expect(kept()).toEqual(['b'])
})

test('a write that waits when its file is closed fails', async () => {
  const { database, put, lock } = newFile(10_000)
  lock()
  const write = put('a')
  database.close()
  await expect(write).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
})
