/** What every ledger must do, as tests over any of them. */
import type { Ledger } from 'pannier/state'
import { beforeAll, describe, expect, test } from 'vitest'

/** A ledger and the way to let time pass for it. */
export interface TimedLedger {
  readonly ledger: Ledger
  advance(ms: number): Promise<void> | void
}

export interface LedgerContractOptions {
  /** How close to the end of a claim it can be looked at: 1 where time passes only as the test says. @default 1 */
  slackMs?: number
}

export function ledgerContract(
  name: string,
  newLedger: () => Promise<TimedLedger> | TimedLedger,
  { slackMs = 1 }: LedgerContractOptions = {},
): void {
  describe(`${name}`, () => {
    let ledger: Ledger
    let advance: TimedLedger['advance']
    beforeAll(async () => void ({ ledger, advance } = await newLedger()))

    test('gives an id to the first who claims it and tells the others that it runs', async () => {
      expect(await ledger.claim('first', 60)).toEqual({ state: 'fresh' })
      expect(await ledger.claim('first', 60)).toEqual({ state: 'running' })
      expect(await ledger.claim('another', 60)).toEqual({ state: 'fresh' })
    })

    test.each([[{ linked: [1, null, 'é\ud800'] }], [null], [0], [''], [undefined]])(
      'tells later claims the settled value %j',
      async (value) => {
        const id = `settled ${typeof value} ${JSON.stringify(value)}`
        await ledger.claim(id, 60)
        await ledger.settle(id, value)
        expect(await ledger.claim(id, 60)).toEqual({ state: 'done', value })
      },
    )

    test('gives each claim a value of its own', async () => {
      const value = { list: [1] }
      await ledger.claim('copy', 60)
      await ledger.settle('copy', value)
      value.list.push(2)
      const first = await ledger.claim('copy', 60)
      if (first.state === 'done') (first.value as typeof value).list.push(3)
      expect(await ledger.claim('copy', 60)).toEqual({ state: 'done', value: { list: [1] } })
    })

    test('keeps the first settled value', async () => {
      await ledger.claim('twice', 60)
      await ledger.settle('twice', 1)
      await ledger.settle('twice', 2)
      expect(await ledger.claim('twice', 60)).toEqual({ state: 'done', value: 1 })
    })

    test('lets a released id be claimed again, but releases nothing that is done', async () => {
      await ledger.claim('released', 60)
      await ledger.release('released')
      await ledger.release('never claimed')
      expect(await ledger.claim('released', 60)).toEqual({ state: 'fresh' })
      await ledger.settle('released', 'value')
      await ledger.release('released')
      expect(await ledger.claim('released', 60)).toEqual({ state: 'done', value: 'value' })
    })

    test('forgets a claim when its time is over, running or done', async () => {
      await ledger.claim('short', 10)
      await ledger.claim('short and done', 10)
      await ledger.settle('short and done', 1)
      await advance(10_000 - slackMs)
      expect(await ledger.claim('short', 10)).toEqual({ state: 'running' })
      expect(await ledger.claim('short and done', 10)).toEqual({ state: 'done', value: 1 })
      await advance(slackMs)
      expect(await ledger.claim('short', 10)).toEqual({ state: 'fresh' })
      expect(await ledger.claim('short and done', 10)).toEqual({ state: 'fresh' })
    })

    test('refuses to settle what is not claimed, or no longer', async () => {
      const unknown = { name: 'StateError', code: 'LEDGER_UNKNOWN' }
      await expect(ledger.settle('never', 1)).rejects.toMatchObject(unknown)
      await ledger.claim('late', 10)
      await advance(10_000)
      await expect(ledger.settle('late', 1)).rejects.toMatchObject(unknown)
    })

    test('refuses a value that is not JSON, and the claim keeps running', async () => {
      await ledger.claim('bigint', 60)
      await expect(ledger.settle('bigint', 1n)).rejects.toMatchObject({ code: 'STATE_NOT_JSON' })
      expect(await ledger.claim('bigint', 60)).toEqual({ state: 'running' })
    })

    test('keeps strange ids apart and refuses those that UTF-8 would confuse', async () => {
      for (const id of ['__proto__', 'constructor', '', 'a\0b', 'a', 'A', "'; DROP TABLE claims; --"]) {
        expect(await ledger.claim(id, 60)).toEqual({ state: 'fresh' })
      }
      await expect(ledger.claim('\ud800', 60)).rejects.toMatchObject({ code: 'STATE_OPTION' })
      await expect(ledger.claim('x', Number.NaN)).rejects.toMatchObject({ code: 'STATE_OPTION' })
      await expect(ledger.claim('x', 0)).rejects.toMatchObject({ code: 'STATE_OPTION' })
    })

    test('of a hundred claims of one state at once, one is fresh', async () => {
      const claims = await Promise.all(Array.from({ length: 100 }, () => ledger.claim('crowd', 60)))
      expect(claims.filter(({ state }) => state === 'fresh')).toHaveLength(1)
    })
  })
}
