/** Leases over a database that is away for a while, by a clock that the test moves. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { leaseLost, type LossReason, type NewQuestion } from '../../tasks/internal.ts'
import type { LeasedTask } from './claim.ts'
import { PostgresLease } from './lease.ts'
import { leaseTimes } from '../leaseTimes.ts'
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

test.each<[string, (lease: PostgresLease) => Promise<unknown>, string[]]>([
  ['unclaim', (lease) => lease.unclaim('a'), []],
  ['note', (lease) => lease.note('half done'), ['change']],
  ['ask', (lease) => lease.ask([{} as NewQuestion], undefined), ['change']],
  ['ask', (lease) => lease.ask([], undefined), ['ready']],
  ['end', (lease) => lease.end({ status: 'completed', result: {} }), ['change']],
  ['giveBack', (lease) => lease.giveBack(), ['ready']],
  ['giveBack', (lease) => lease.release(), ['ready']],
  ['setOnTrial', (lease) => lease.setOnTrial(true), []],
])('what a lease does by %s is written before it is done, and before anybody hears of it', async (name, act, heard) => {
  const written = Promise.withResolvers<boolean>()
  const events: string[] = []
  const lease = new PostgresLease(row, {
    writes: { [name]: () => written.promise } as unknown as LeaseWrites,
    times,
    requestedAt: performance.now(),
    onChange: () => void events.push('change'),
    onReady: () => void events.push('ready'),
    onProgress() {},
  })
  const done = act(lease).then(() => events.push('done'))
  await vi.advanceTimersByTimeAsync(1)
  expect(events).toEqual([])
  written.resolve(true)
  await done
  expect(events).toEqual([...heard, 'done'])
  lease.abandon()
})

test('a step that ends the suspicion of a task is told, and one that does not is not', async () => {
  const writes = { hasLosses: true, step: async () => true }
  const onProgress = vi.fn<() => void>()
  const host = { writes: writes as unknown as LeaseWrites, times, requestedAt: performance.now() }
  const lease = new PostgresLease(row, { ...host, onChange() {}, onReady() {}, onProgress })
  await lease.step('a', {})
  expect(onProgress).not.toHaveBeenCalled()
  writes.step = async () => !(writes.hasLosses = false)
  await lease.step('b', {})
  expect(onProgress).toHaveBeenCalledTimes(1)
  await lease.step('c', {})
  expect(onProgress).toHaveBeenCalledTimes(1)
  lease.abandon()
})

test.each([
  ['what the database says', async () => 'cancelled', 'cancelled'],
  ['taken where that is unknown', async () => undefined, 'taken'],
  ['taken where the database is away', () => Promise.reject(new Error('away')), 'taken'],
])('a write that finds the lease gone has lost it, and why is %s', async (_, lossReason, reason) => {
  const writes = { unclaim: async () => false, lossReason } as unknown as LeaseWrites
  const host = { writes, times, requestedAt: performance.now(), onChange() {}, onReady() {}, onProgress() {} }
  const lease = new PostgresLease(row, host)
  await expect(lease.unclaim('a')).rejects.toEqual(leaseLost(reason as LossReason))
  expect([lease.isOver(), lease.signal.aborted]).toEqual([true, true])
})

test('a task that expires is lost when its time is over, unless that is too far away for a timer', async () => {
  const writes = new FakeDatabase() as unknown as LeaseWrites
  const host = { writes, times, requestedAt: performance.now(), onChange() {}, onReady() {}, onProgress() {} }
  const [soon, late] = [1000, 2 ** 31 - 1].map((left) => new PostgresLease({ ...row, left_ms: left }, host))
  await vi.advanceTimersByTimeAsync(999)
  expect([soon!.isOver(), late!.isOver()]).toEqual([false, false])
  await vi.advanceTimersByTimeAsync(1)
  expect([soon!.isOver(), late!.isOver()]).toEqual([true, false])
  expect(soon!.signal.reason).toEqual(leaseLost('expired'))
  late!.abandon()
})
