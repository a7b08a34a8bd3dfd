import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, describe, expect, test } from 'vitest'
import { type CarryStore, memoryCarryStore, sqliteCarryStore } from './index.ts'

const folder = mkdtempSync(join(tmpdir(), 'pannier-carry-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let nowMs = 1_000_000
const clock = () => nowMs
const inSeconds = (seconds: number) => nowMs / 1000 + seconds
const stores: [string, () => CarryStore][] = [
  ['in memory', () => memoryCarryStore({ clock })],
  ['in SQLite', () => sqliteCarryStore({ path: join(folder, 'carry.db'), clock })],
]

describe.each(stores)('a carry store %s', (_, makeStore) => {
  const store = makeStore()

  test('gives back what was put, the last under each id', async () => {
    await store.put('a', 'token-1', inSeconds(60))
    await store.put('b', 'token-2', inSeconds(60))
    await store.put('a', 'token-3', inSeconds(60))
    expect(await store.get('a')).toBe('token-3')
    expect(await store.get('b')).toBe('token-2')
    expect(await store.get('c')).toBeUndefined()
  })

  test('forgets what was deleted, and deleting twice is no error', async () => {
    await store.put('gone', 'token', inSeconds(60))
    await store.delete('gone')
    await store.delete('gone')
    expect(await store.get('gone')).toBeUndefined()
  })

  test('gives nothing whose time is over', async () => {
    await store.put('short', 'token', inSeconds(10))
    nowMs += 9_999
    expect(await store.get('short')).toBe('token')
    nowMs += 1
    expect(await store.get('short')).toBeUndefined()
    await store.put('short', 'again', inSeconds(10))
    expect(await store.get('short')).toBe('again')
  })

  test('keeps strange ids apart', async () => {
    const ids = ['__proto__', 'toString', '', 'x\0y', 'x']
    for (const id of ids) await store.put(id, `token of ${id}`, inSeconds(60))
    for (const id of ids) expect(await store.get(id)).toBe(`token of ${id}`)
    await expect(store.put('\udfff', 'token', inSeconds(60))).rejects.toMatchObject({ code: 'STATE_OPTION' })
  })
})

test('a carry store in memory refuses new tokens at its cap rather than lose one', async () => {
  const store = memoryCarryStore({ clock, maxEntries: 2 })
  await store.put('a', 'token', inSeconds(10))
  await store.put('b', 'token', inSeconds(20))
  await expect(store.put('c', 'token', inSeconds(10))).rejects.toMatchObject({ code: 'STORE_FULL' })
  await store.put('a', 'another', inSeconds(10))
  nowMs += 10_000
  await store.put('c', 'token', inSeconds(10))
  expect(await store.get('b')).toBe('token')
})

test('a token outlives the store that put it in SQLite', async () => {
  const path = join(folder, 'reopened.db')
  const first = sqliteCarryStore({ path, clock })
  await first.put('a', 'token', inSeconds(60))
  first.close()
  const second = sqliteCarryStore({ path, clock })
  expect(await second.get('a')).toBe('token')
  second.close()
})
