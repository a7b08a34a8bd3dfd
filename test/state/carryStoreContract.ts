/** What every carry store must do, as tests over any of them. */
import type { CarryStore } from 'pannier/state'
import { beforeAll, describe, expect, test } from 'vitest'

/** A store and the way to let time pass for it. */
export interface TimedCarryStore {
  readonly store: CarryStore
  /** So many seconds from now, as `put` wants it. */
  inSeconds(seconds: number): number
  advance(ms: number): Promise<void> | void
}

export interface CarryStoreContractOptions {
  /** How close to the end of a token it can be looked at: 1 where time passes only as the test says. @default 1 */
  slackMs?: number
}

export function carryStoreContract(
  name: string,
  newStore: () => Promise<TimedCarryStore> | TimedCarryStore,
  { slackMs = 1 }: CarryStoreContractOptions = {},
): void {
  describe(`${name}`, () => {
    let store: CarryStore
    let advance: TimedCarryStore['advance']
    let inSeconds: TimedCarryStore['inSeconds']
    beforeAll(async () => void ({ store, advance, inSeconds } = await newStore()))

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
      await advance(10_000 - slackMs)
      expect(await store.get('short')).toBe('token')
      await advance(slackMs)
      expect(await store.get('short')).toBeUndefined()
      await store.put('short', 'again', inSeconds(10))
      expect(await store.get('short')).toBe('again')
    })

    test('keeps strange ids apart', async () => {
      const ids = ['__proto__', 'toString', '', 'x\0y', 'x']
      // Tokens are plain text: SQLite of Node 22 reads text up to a NUL.
      for (const [index, id] of ids.entries()) await store.put(id, `token ${index}`, inSeconds(60))
      for (const [index, id] of ids.entries()) expect(await store.get(id)).toBe(`token ${index}`)
      await expect(store.put('\udfff', 'token', inSeconds(60))).rejects.toMatchObject({ code: 'STATE_OPTION' })
    })
  })
}
