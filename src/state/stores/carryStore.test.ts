import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterAll, expect, test } from 'vitest'
import { carryStoreContract } from '../../../test/state/carryStoreContract.ts'
import { type CarryStore, memoryCarryStore, sqliteCarryStore } from '../index.ts'

const folder = mkdtempSync(join(tmpdir(), 'pannier-carry-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

let nowMs = 1_000_000
const clock = () => nowMs
const inSeconds = (seconds: number) => nowMs / 1000 + seconds
const timed = (store: CarryStore) => ({ store, inSeconds, advance: (ms: number) => void (nowMs += ms) })

carryStoreContract('a carry store in memory', () => timed(memoryCarryStore({ clock })))
carryStoreContract('a carry store in SQLite', () => {
  return timed(sqliteCarryStore({ path: join(folder, 'carry.db'), clock }))
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

test('a store in SQLite that was closed has let go of its file', async () => {
  const store = sqliteCarryStore({ path: join(folder, 'closed.db'), clock })
  store.close()
  await expect(store.get('a')).rejects.toMatchObject({ code: expect.stringMatching(/^STORE_/) })
})
