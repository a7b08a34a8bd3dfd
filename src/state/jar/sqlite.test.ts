import { chmodSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import { inspect } from 'node:util'
import { afterAll, expect, test } from 'vitest'
import { proves } from '../../../test/proves.ts'
import { tryUntil } from './sqlite.ts'
import { defaultJarPath, type Jar, StateError, sqliteJar, sqliteLedger } from '../index.ts'

const folder = mkdtempSync(join(tmpdir(), 'pannier-sqlite-jar-'))
let files = 0
const newPath = () => join(folder, `jar-${++files}.db`)
const modeOf = (path: string) => statSync(path).mode & 0o777
const owner = { server: 'shop.example.com', principal: 'ann', context: 'chat' }
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

function change(path: string, sql: string): void {
  const database = new DatabaseSync(path)
  database.exec(sql)
  database.close()
}

async function filled(path: string): Promise<Jar> {
  const jar = sqliteJar({ path })
  await jar.write(owner, { session: { cart: ['cucumber'] }, server: { id: 'secret' } })
  return jar
}

proves('CS-11', 'server state outlives the process that kept it', async () => {
  const path = newPath()
  const first = await filled(path)
  first.close()
  const second = sqliteJar({ path })
  expect((await second.read({ ...owner, context: 'another' })).server).toEqual({ id: 'secret' })
  expect((await second.read(owner)).session).toEqual({ cart: ['cucumber'] })
  second.close()
})

test('only the owner may read the file, its log, its index, and the folders that were made for it', async () => {
  const path = join(folder, 'new', 'deep', 'jar.db')
  const jar = await filled(path)
  for (const suffix of ['', '-wal', '-shm']) expect(modeOf(path + suffix)).toBe(0o600)
  for (const made of ['new', 'new/deep']) expect(modeOf(join(folder, made))).toBe(0o700)
  jar.close()
})

test('files that others may read are closed to them when the jar is opened; their folder stays as it is', async () => {
  const path = newPath()
  const jar = await filled(path)
  chmodSync(folder, 0o755)
  for (const suffix of ['', '-wal', '-shm']) chmodSync(path + suffix, 0o644)
  const other = sqliteJar({ path })
  for (const suffix of ['', '-wal', '-shm']) expect(modeOf(path + suffix)).toBe(0o600)
  expect(modeOf(folder)).toBe(0o755)
  other.close()
  jar.close()
})

proves('CS-12', 'what was cleared is gone from the files, too', async () => {
  const path = newPath()
  const jar = await filled(path)
  const contains = () => ['', '-wal'].some((suffix) => readFileSync(path + suffix).includes('secret'))
  expect(contains()).toBe(true)
  expect(await jar.clear({ name: 'id' })).toBe(1)
  expect(contains()).toBe(false)
  jar.close()
})

test('two jars on one file see what the other wrote, and the last write wins', async () => {
  const path = newPath()
  const [one, two] = [sqliteJar({ path }), sqliteJar({ path })]
  await one.write(owner, { server: { a: 1, b: 1 } })
  await two.write(owner, { server: { b: 2, c: 2 } })
  await one.write(owner, { server: { c: null } })
  expect((await two.read(owner)).server).toEqual({ a: 1, b: 2 })
  one.close()
  two.close()
})

test('a jar that another process is writing to can be read at once', async () => {
  const path = newPath()
  const jar = await filled(path)
  const writer = new DatabaseSync(path)
  writer.exec(`BEGIN IMMEDIATE; UPDATE entries SET used_at = 0`)
  const late = sqliteJar({ path, clock: () => Date.now() + 3_600_000 })
  const before = performance.now()
  expect((await late.read(owner)).server).toEqual({ id: 'secret' })
  expect(performance.now() - before).toBeLessThan(4000)
  writer.exec('ROLLBACK')
  writer.close()
  late.close()
  jar.close()
})

test('setting the same value again does not write to the file', async () => {
  const path = newPath()
  const jar = await filled(path)
  const size = () => statSync(`${path}-wal`).size
  const before = size()
  for (let time = 0; time < 20; time++) await jar.write(owner, { server: { id: 'secret' } })
  expect(size()).toBe(before)
  await jar.write(owner, { server: { id: 'changed' } })
  expect(size()).toBeGreaterThan(before)
  jar.close()
})

test('a jar of a newer version is refused and left as it is', async () => {
  const path = newPath()
  const jar = await filled(path)
  jar.close()
  change(path, 'PRAGMA user_version = 2')
  const before = readFileSync(path)
  expect(codeOf(() => sqliteJar({ path }))).toBe('STORE_NEWER')
  expect(() => sqliteJar({ path })).toThrow(/schema 2, this version knows 1; upgrade/)
  expect(readFileSync(path).equals(before)).toBe(true)
})

test('a file of another program, or of a ledger, is refused and left as it is', () => {
  const other = newPath()
  change(other, 'CREATE TABLE customers (name TEXT)')
  const ledger = newPath()
  sqliteLedger({ path: ledger }).close()
  for (const path of [other, ledger]) {
    chmodSync(path, 0o644)
    const before = readFileSync(path)
    expect(codeOf(() => sqliteJar({ path }))).toBe('STORE_CORRUPT')
    expect(() => sqliteJar({ path })).toThrow(/but not a jar; give it a path of its own/)
    expect(readFileSync(path).equals(before)).toBe(true)
    expect(modeOf(path)).toBe(0o644)
  }
})

test('a file that is no database, or was damaged, is refused with a clear error', async () => {
  const notes = newPath()
  writeFileSync(notes, 'these are notes about something else, and rather long ones at that\n'.repeat(100))
  expect(codeOf(() => sqliteJar({ path: notes }))).toBe('STORE_CORRUPT')

  const damaged = newPath()
  const jar = await filled(damaged)
  jar.close()
  const bytes = readFileSync(damaged)
  writeFileSync(damaged, Buffer.concat([bytes.subarray(0, 100), Buffer.alloc(bytes.length - 100, 0xa5)]))
  expect(codeOf(() => sqliteJar({ path: damaged }))).toBe('STORE_CORRUPT')

  const withoutTable = newPath()
  sqliteJar({ path: withoutTable }).close()
  change(withoutTable, 'DROP TABLE entries; CREATE TABLE other (name TEXT)')
  expect(codeOf(() => sqliteJar({ path: withoutTable }))).toBe('STORE_CORRUPT')
})

test.each(['value', 'name'])('a damaged %s is refused without being quoted', async (column) => {
  const path = newPath()
  const jar = await filled(path)
  change(path, `UPDATE entries SET ${column} = 'secret {' WHERE context = ''`)
  for (const run of [async () => jar.read(owner), () => jar.show({})]) {
    const error: unknown = await run().catch((reason: unknown) => reason)
    expect(error).toMatchObject({ code: 'STORE_CORRUPT' })
    expect(inspect(error)).not.toContain('secret')
  }
  jar.close()
})

test('a path that cannot be used, and a jar that was closed, say so', async () => {
  expect(codeOf(() => sqliteJar({ path: folder }))).toBe('STORE_UNAVAILABLE')
  const file = newPath()
  writeFileSync(file, '')
  expect(codeOf(() => sqliteJar({ path: join(file, 'jar.db') }))).toBe('STORE_UNAVAILABLE')
  const jar = sqliteJar({ path: newPath() })
  jar.close()
  await expect(jar.read(owner)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  await expect(jar.write(owner, { server: { a: 1 } })).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
})

test('the file is in write-ahead mode, whether writes wait for the disk or not', () => {
  const modes = [false, true].map((survivesPowerLoss) => {
    const path = newPath()
    const jar = sqliteJar({ path, survivesPowerLoss })
    const database = new DatabaseSync(path)
    const mode = database.prepare('PRAGMA journal_mode').get()
    database.close()
    jar.close()
    return mode
  })
  expect(modes).toEqual([{ journal_mode: 'wal' }, { journal_mode: 'wal' }])
})

test('the jar of the program lies where the system keeps the data of a user', () => {
  const home = '/home/ann'
  const path = (platform: NodeJS.Platform, env: Record<string, string>) => defaultJarPath({ platform, env, home })
  expect(path('linux', {})).toBe('/home/ann/.local/share/pannier/jar.db')
  expect(path('linux', { XDG_DATA_HOME: '/data' })).toBe('/data/pannier/jar.db')
  expect(path('linux', { XDG_DATA_HOME: 'relative' })).toBe('/home/ann/.local/share/pannier/jar.db')
  expect(path('darwin', {})).toBe('/home/ann/Library/Application Support/pannier/jar.db')
  expect(path('darwin', { XDG_DATA_HOME: '/data' })).toBe('/data/pannier/jar.db')
  expect(path('win32', { LOCALAPPDATA: 'C:\\Local' })).toBe('C:\\Local\\pannier\\jar.db')
})

test('what others keep from being erased is tried 25 times, after pauses that grow', async () => {
  const log: (number | string)[] = []
  const pause = async (ms: number) => {
    await new Promise((resolve) => setImmediate(resolve))
    log.push(ms)
  }
  await tryUntil(() => log.push('try') < 0, pause)
  expect(log.filter((entry) => entry === 'try')).toHaveLength(25)
  expect(log.slice(0, 6)).toEqual(['try', 1, 'try', 2, 'try', 4])
  expect(log.slice(-3)).toEqual(['try', 50, 'try'])
  log.length = 0
  await tryUntil(() => log.push('try') === 3, pause)
  expect(log).toEqual(['try', 1, 'try'])
})
