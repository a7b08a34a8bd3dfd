/** Leases over a database that is away for a while, by a clock that the test moves. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { LeasedTask } from './claim.ts'
import { PostgresLease } from './lease.ts'
import { leaseTimes } from './leaseTimes.ts'
import type { LeaseWrites } from './leaseWrites.ts'

const LEASE_MS = 12_000
const times = leaseTimes(LEASE_MS)
const PHASES = 24

const row: LeasedTask = {
  task: '1',
  epoch: '1',
  job: 'job',
  losses: 0,
  crashes: 0,
  shared: false,
  was_held: false,
  id: 'id',
  tool: 'chore',
  args: '{}',
  caller: '{}',
  call_id: '"call"',
  begun_at: null,
  own: null,
  round: 0,
  left_ms: null,
  steps: [],
  asks: [],
}

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.restoreAllMocks().useRealTimers())

type Outage = 'refused' | 'silent'

/** A database that can be away, and knows until when the lease is held. While it is silent, it never responds. */
class FakeDatabase {
  heldUntil = performance.now() + times.holdMs
  outage: Outage | undefined

  async renew(holdMs: number): Promise<boolean> {
    if (this.outage === 'silent') return new Promise(() => {})
    if (this.outage !== undefined) throw new Error('The database cannot be reached.')
    this.heldUntil = performance.now() + holdMs
    return true
  }
}

function newLease(database: FakeDatabase): PostgresLease {
  const writes = database as unknown as LeaseWrites
  const requestedAt = performance.now()
  return new PostgresLease(row, { writes, times, requestedAt, onChange() {}, onReady() {}, onProgress() {} })
}

/** How many leases are lost when an outage of this share of `leaseMs` begins at each moment of a renewal. */
async function lostIn(outage: Outage, share: number): Promise<number> {
  let lost = 0
  for (let phase = 0; phase < PHASES; phase++) {
    const database = new FakeDatabase()
    const lease = newLease(database)
    // A moment before the renewal is the worst.
    await vi.advanceTimersByTimeAsync(times.renewMs * (1 + phase / PHASES) - 1)
    database.outage = outage
    await vi.advanceTimersByTimeAsync(share * LEASE_MS)
    database.outage = undefined
    await vi.advanceTimersByTimeAsync(LEASE_MS)
    if (lease.isOver()) lost++
    else expect(lease.signal.aborted).toBe(false)
    lease.abandon()
  }
  return lost
}

test.each<[outage: Outage, share: number, lost: number]>([
  ['refused', 1 / 4, 0],
  ['refused', 0.55, 0],
  ['refused', 3 / 4, PHASES],
  ['silent', 1 / 4, 0],
  ['silent', 0.45, 0],
  ['silent', 3 / 4, PHASES],
])('a database that is %s for %d of leaseMs costs %i leases', async (outage, share, lost) => {
  expect(await lostIn(outage, share)).toBe(lost)
})

test('a run is aborted before others may claim its task, by a sixteenth of leaseMs or more', async () => {
  const database = new FakeDatabase()
  const lease = newLease(database)
  const outageAt = performance.now() + 3 * LEASE_MS
  let abortedAt = Number.POSITIVE_INFINITY
  lease.signal.addEventListener('abort', () => (abortedAt = performance.now()))
  await vi.advanceTimersByTimeAsync(3 * LEASE_MS)
  database.outage = 'refused'
  await vi.advanceTimersByTimeAsync(LEASE_MS)
  expect(abortedAt).toBeLessThanOrEqual(database.heldUntil - LEASE_MS / 16)
  expect(abortedAt).toBeGreaterThan(outageAt)
})

test('after a freeze a lease is over at once, although no timer has fired, and a late response does not renew it', async () => {
  const database = new FakeDatabase()
  const lease = newLease(database)
  const now = performance.now()
  vi.spyOn(performance, 'now').mockReturnValue(now + times.runMs)
  expect([lease.isOver(), lease.signal.aborted]).toEqual([true, true])
  await vi.advanceTimersByTimeAsync(times.renewMs)
  expect(lease.isOver()).toBe(true)
})
