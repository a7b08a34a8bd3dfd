import { spawn } from 'node:child_process'
import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { DatabaseSync } from 'node:sqlite'
import { inspect } from 'node:util'
import { afterAll, describe, expect, test, vi } from 'vitest'
import { sqliteCarryStore, sqliteLedger, StateError } from '../index.ts'
import { inTransaction, openSqliteFile, withStoreErrors } from './index.ts'
import { retryWhileBusy } from './sqliteFile.ts'

const folder = mkdtempSync(join(tmpdir(), 'pannier-sqlite-'))
let files = 0
const newPath = () => join(folder, `file-${++files}.db`)
const modeOf = (path: string) => statSync(path).mode & 0o777
afterAll(() => rmSync(folder, { recursive: true, force: true }))

function codeOf(run: () => unknown): string {
  try {
    run()
  } catch (error) {
    if (error instanceof StateError) return error.code
    throw error
  }
  return 'accepted'
}

test('only the owner may read the file, its log and its index', async () => {
  const path = newPath()
  const store = sqliteCarryStore({ path })
  await store.put('a', 'token', 1e10)
  for (const suffix of ['', '-wal', '-shm']) expect(modeOf(path + suffix)).toBe(0o600)
  store.close()
})

test('a file that others may read is closed to them when it is opened', () => {
  const path = newPath()
  sqliteCarryStore({ path }).close()
  chmodSync(path, 0o644)
  sqliteCarryStore({ path }).close()
  expect(modeOf(path)).toBe(0o600)
})

test.each([undefined, ''])('no file can be %j', (path) => {
  expect(() => sqliteCarryStore({ path } as { path: string })).toThrow('needs the "path" of that file')
})

test('a ledger and a carry store may share a file', async () => {
  const path = newPath()
  const [ledger, store] = [sqliteLedger({ path }), sqliteCarryStore({ path })]
  await store.put('a', 'token', 1e10)
  expect(await ledger.claim('a', 60)).toEqual({ state: 'fresh' })
  expect(await store.get('a')).toBe('token')
  ledger.close()
  store.close()
})

test('the file is in write-ahead mode and expired rows leave it', async () => {
  const path = newPath()
  let now = 0
  const store = sqliteCarryStore({ path, clock: () => now })
  const ledger = sqliteLedger({ path, clock: () => now })
  for (let index = 0; index < 50; index++) {
    await store.put(`old ${index}`, 'token', 10)
    await ledger.claim(`old ${index}`, 10)
  }
  now = 60_000
  await store.put('new', 'token', 100)
  await ledger.claim('new', 10)
  store.close()
  const database = new DatabaseSync(path)
  expect(database.prepare('SELECT id FROM tokens').all()).toEqual([{ id: 'new' }])
  expect(database.prepare('SELECT id FROM claims').all()).toEqual([{ id: 'new' }])
  expect(database.prepare('PRAGMA journal_mode').get()).toEqual({ journal_mode: 'wal' })
  database.close()
  ledger.close()
})

test('a file of a newer version is refused and left as it is', () => {
  const path = newPath()
  sqliteCarryStore({ path }).close()
  const database = new DatabaseSync(path)
  database.exec('PRAGMA user_version = 2')
  database.close()
  const before = readFileSync(path)
  expect(codeOf(() => sqliteCarryStore({ path }))).toBe('STORE_NEWER')
  expect(() => sqliteLedger({ path })).toThrow(/schema 2, this version knows 1/)
  expect(readFileSync(path).equals(before)).toBe(true)
})

test('a database of another program is refused and left as it is', () => {
  const path = newPath()
  const database = new DatabaseSync(path)
  database.exec('CREATE TABLE customers (name TEXT)')
  database.close()
  chmodSync(path, 0o644)
  const before = readFileSync(path)
  expect(codeOf(() => sqliteCarryStore({ path }))).toBe('STORE_CORRUPT')
  expect(readFileSync(path).equals(before)).toBe(true)
  expect(modeOf(path)).toBe(0o644)
})

test('a file that is no database, or was damaged, is refused with a clear error', () => {
  const path = newPath()
  writeFileSync(path, 'these are notes about something else, and rather long ones at that\n'.repeat(100))
  expect(codeOf(() => sqliteCarryStore({ path }))).toBe('STORE_CORRUPT')

  const damaged = newPath()
  sqliteLedger({ path: damaged }).close()
  const bytes = readFileSync(damaged)
  writeFileSync(damaged, Buffer.concat([bytes.subarray(0, 100), Buffer.alloc(bytes.length - 100, 0xa5)]))
  expect(codeOf(() => sqliteLedger({ path: damaged }))).toBe('STORE_CORRUPT')

  const withoutTable = newPath()
  sqliteLedger({ path: withoutTable }).close()
  const database = new DatabaseSync(withoutTable)
  database.exec('DROP TABLE claims')
  database.close()
  expect(codeOf(() => sqliteLedger({ path: withoutTable }))).toBe('STORE_CORRUPT')
})

test('a damaged value is refused without being quoted', async () => {
  const path = newPath()
  const ledger = sqliteLedger({ path })
  await ledger.claim('a', 60)
  await ledger.settle('a', 1)
  const database = new DatabaseSync(path)
  database.exec(`UPDATE claims SET value = 'secret {'`)
  database.close()
  const error: unknown = await ledger.claim('a', 60).catch((reason: unknown) => reason)
  expect(error).toMatchObject({ code: 'STORE_CORRUPT' })
  expect(inspect(error)).not.toContain('secret')
  ledger.close()
})

test('a path that cannot be opened says what to check', () => {
  const open = () => sqliteCarryStore({ path: join(folder, 'no', 'such', 'folder.db') })
  expect(codeOf(open)).toBe('STORE_UNAVAILABLE')
  expect(open).toThrow(/check that its folder exists/)
  expect(codeOf(() => sqliteCarryStore({ path: folder }))).toBe('STORE_UNAVAILABLE')
})

test('a fault of the code is passed on as it is, and only one of the file says what to do with the file', () => {
  const format = { applicationId: 77, makesFolder: false, noun: 'a book', pragmas: '', migrations: ['SELECT 1'] }
  const database = openSqliteFile(':memory:', format)
  const fault = new TypeError('a fault of the code')
  const thrown = (run: () => unknown) => {
    try {
      return withStoreErrors(run)
    } catch (error) {
      return error
    }
  }
  expect(
    thrown(() =>
      inTransaction(database, () => {
        throw fault
      }),
    ),
  ).toBe(fault)
  expect(thrown(() => database.prepare('SELECT ?').get(undefined as never))).toMatchObject({
    code: 'ERR_INVALID_ARG_TYPE',
  })
  expect(thrown(() => database.prepare('SELECT * FROM nowhere'))).toMatchObject({ code: 'STORE_CORRUPT' })
  database.close()
  expect(thrown(() => database.prepare('SELECT 1'))).toMatchObject({ code: 'STORE_UNAVAILABLE' })
})

describe('a file of an older version', () => {
  const migrations = [
    'CREATE TABLE notes (text TEXT NOT NULL) STRICT',
    `ALTER TABLE notes ADD COLUMN seen INTEGER NOT NULL DEFAULT 0; INSERT INTO notes (text) VALUES ('second')`,
    `INSERT INTO notes (text) SELECT 'third'; UPDATE notes SET seen = seen + 1`,
  ]
  const format = { applicationId: 77, makesFolder: false, noun: 'a book', pragmas: '' }
  const openAt = (path: string, version: number) =>
    openSqliteFile(path, { ...format, migrations: migrations.slice(0, version) })
  const notesIn = (database: DatabaseSync) => database.prepare('SELECT text, seen FROM notes').all()
  const upToDate = [
    { text: 'first', seen: 1 },
    { text: 'second', seen: 1 },
    { text: 'third', seen: 1 },
  ]

  function makeOld(version: number): string {
    const path = newPath()
    const database = openAt(path, version)
    database.exec(`INSERT INTO notes (text) SELECT 'first' WHERE ${version} = 1`)
    database.close()
    return path
  }

  test('is brought up to date when it is opened, with what it holds', () => {
    const path = makeOld(1)
    const database = openAt(path, 3)
    expect(notesIn(database)).toEqual(upToDate)
    expect(database.prepare('PRAGMA user_version').get()).toEqual({ user_version: 3 })
    database.close()
    const again = openAt(path, 3)
    expect(notesIn(again)).toEqual(upToDate)
    again.close()
    expect(codeOf(() => openAt(path, 2))).toBe('STORE_NEWER')
  })

  test('makes only the steps it lacks', () => {
    const database = openAt(makeOld(2), 3)
    expect(notesIn(database)).toEqual(upToDate.slice(1))
    database.close()
  })

  test('stays as it is when a step fails', () => {
    const path = makeOld(1)
    const broken = [...migrations.slice(0, 2), 'INSERT INTO nowhere VALUES (1)']
    expect(codeOf(() => openSqliteFile(path, { ...format, migrations: broken }))).toBe('STORE_CORRUPT')
    const database = openAt(path, 1)
    expect(database.prepare('SELECT * FROM notes').all()).toEqual([{ text: 'first' }])
    database.close()
  })

  test('is brought up to date once, when several processes open it at the same moment', async () => {
    const path = makeOld(1)
    // Long enough for the others to arrive while it runs.
    const slow = `INSERT INTO notes (text) WITH RECURSIVE n (i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 300000)
                  SELECT 'third' FROM n WHERE i = 1 OR i < 0; UPDATE notes SET seen = seen + 1`
    const source = `
      import { openSqliteFile } from ${JSON.stringify(new URL('./sqliteFile.ts', import.meta.url).href)}
      const format = ${JSON.stringify({ ...format, migrations: [...migrations.slice(0, 2), slow] })}
      process.stdin.once('data', () => {
        const database = openSqliteFile(${JSON.stringify(path)}, format)
        console.log(JSON.stringify(database.prepare('SELECT text, seen FROM notes').all()))
        process.exit()
      })
      console.log('ready')`
    const args = ['--no-warnings', '--conditions=pannier-source', '--input-type=module', '--eval', source]
    const openers = Array.from({ length: 3 }, () => {
      const child = spawn(process.execPath, args, { stdio: ['pipe', 'pipe', 'inherit'] })
      return { child, lines: createInterface({ input: child.stdout })[Symbol.asyncIterator]() }
    })
    for (const { lines } of openers) expect((await lines.next()).value).toBe('ready')
    for (const { child } of openers) child.stdin.write('go\n')
    for (const { lines } of openers) expect(JSON.parse(String((await lines.next()).value))).toEqual(upToDate)
  })
})

describe('what a lock may hold up', () => {
  const busy = (errcode = 5) => Object.assign(new Error('busy'), { errcode })

  test('is tried again while the file is locked, and an error of another kind is not', () => {
    const errors = [busy(5), busy(6), busy(261)]
    let tries = 0
    retryWhileBusy(() => {
      tries++
      const error = errors.shift()
      if (error !== undefined) throw error
    })
    expect(tries).toBe(4)
    const full = vi.fn<() => void>(() => {
      throw busy(13)
    })
    expect(() => retryWhileBusy(full)).toThrow('busy')
    expect(full).toHaveBeenCalledTimes(1)
  })

  test('is given up after five seconds', () => {
    let now = 0
    const clock = vi.spyOn(performance, 'now').mockImplementation(() => now)
    const locked = vi.fn<() => void>(() => {
      now += 2000
      throw busy()
    })
    expect(() => retryWhileBusy(locked)).toThrow('busy')
    clock.mockRestore()
    expect(locked).toHaveBeenCalledTimes(3)
  })
})
