import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { GatewayLease, type GatewayLeaseOptions } from './gatewayLease.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** The lease of a gateway whose database can be reached as long as `isThere`. */
function begin(database: { isThere: boolean }) {
  const said: string[] = []
  const note = (_: object, text: string): void => void said.push(text)
  const orFail = async <T>(value: T): Promise<T> => {
    if (database.isThere) return value
    throw new Error('connect ECONNREFUSED')
  }
  const placements = { enter: () => orFail(undefined), renew: () => orFail(true), held: () => orFail(new Map()) }
  const lease = new GatewayLease({
    placements,
    leaseMs: 20_000,
    address: () => undefined,
    reached: async () => {},
    onLapsed: () => {},
    onCallers: () => {},
    logger: () => ({ error: note, info: note }),
  } as unknown as GatewayLeaseOptions)
  return { lease, said }
}

test('a database that was never there is not said to have given a lease', async () => {
  const database = { isThere: false }
  const { lease, said } = begin(database)
  lease.start()
  await vi.advanceTimersByTimeAsync(1)
  expect(said).toEqual([expect.stringMatching(/could not since this gateway was started.*are not served until it can/)])
  expect(lease.trouble).toBe(said[0])
  database.isThere = true
  await vi.advanceTimersByTimeAsync(20_000)
  expect(lease.trouble).toBeUndefined()
  database.isThere = false
  await vi.advanceTimersByTimeAsync(20_000)
  expect(lease.trouble).toContain('are served for as long as the lease of this gateway lasts')
})
