/** Leases over a database that is away for a while, by a clock that the test moves. */
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { newJournal } from '../../journal/index.ts'
import type { NewQuestion } from '../engine.ts'
import { leaseLost, type LossReason } from '../errors.ts'
import { leaseTimes } from '../leaseTimes.ts'
import type { ClaimedTask } from './claim.ts'
import { type LeaseHost, Renewal, SqlLease } from './lease.ts'
import type { LeaseWrites } from './leaseWrites.ts'
import type { TaskStore } from './store.ts'

const LEASE_MS = 12_000
const times = leaseTimes(LEASE_MS)
const PHASES = 24

const claimed: ClaimedTask = {
  task: 1,
  generation: 1,
  id: 'id',
  address: 'address',
  toolKey: 'tool',
  tool: 'chore',
  args: {},
  caller: {},
  journal: newJournal('call'),
  attempts: 0,
  hasLosses: false,
  leftMs: null,
}

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.restoreAllMocks().useRealTimers())

type Outage = 'refused' | 'silent'

/** A database that can be away, and knows until when the lease is held. While it is silent, it never responds. */
class FakeDatabase {
  heldUntil = performance.now() + times.holdMs
  outage: Outage | undefined
  generation = 1

  readonly driver = {
    elapsedMs: () => performance.now(),
    changeReturning: async () => {
      if (this.outage === 'silent') return new Promise(() => {})
      if (this.outage !== undefined) throw new Error('The database cannot be reached.')
      this.heldUntil = performance.now() + times.holdMs
      return [{ number: '1', generation: String(this.generation) }]
    },
  }
}

function newLease(writes: Partial<LeaseWrites> = {}, more: Partial<LeaseHost> = {}, task = claimed): SqlLease {
  return new SqlLease(task, {
    writes: writes as LeaseWrites,
    times,
    requestedAt: performance.now(),
    elapsedMs: () => performance.now(),
    isLocked: () => false,
    onChange() {},
    onProgress() {},
    ...more,
  })
}

function renewed(database: FakeDatabase, writes: Partial<LeaseWrites> = {}): { lease: SqlLease; renewal: Renewal } {
  const lease = newLease(writes)
  const store = { driver: database.driver, sql: { tasks: 'tasks', now: 'now' } } as unknown as TaskStore
  const renewal = new Renewal(store, { worker: 'w', times, leases: new Set([lease]) })
  renewal.start()
  return { lease, renewal }
}

/** How many leases are lost when an outage of this share of `leaseMs` begins at each moment of a renewal. */
async function lostIn(outage: Outage, share: number): Promise<number> {
  let lost = 0
  for (let phase = 0; phase < PHASES; phase++) {
    const database = new FakeDatabase()
    const { lease, renewal } = renewed(database)
    // A moment before the renewal is the worst.
    await vi.advanceTimersByTimeAsync(times.renewMs * (1 + phase / PHASES) - 1)
    database.outage = outage
    await vi.advanceTimersByTimeAsync(share * LEASE_MS)
    database.outage = undefined
    await vi.advanceTimersByTimeAsync(LEASE_MS)
    if (lease.isOver()) lost++
    else expect(lease.signal.aborted).toBe(false)
    renewal.stop()
    lease.lose('closed')
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
  const { lease, renewal } = renewed(database)
  const outageAt = performance.now() + 3 * LEASE_MS
  let abortedAt = Number.POSITIVE_INFINITY
  lease.signal.addEventListener('abort', () => (abortedAt = performance.now()))
  await vi.advanceTimersByTimeAsync(3 * LEASE_MS)
  database.outage = 'refused'
  await vi.advanceTimersByTimeAsync(LEASE_MS)
  expect(abortedAt).toBeLessThanOrEqual(database.heldUntil - LEASE_MS / 16)
  expect(abortedAt).toBeGreaterThan(outageAt)
  renewal.stop()
})

test('a renewal that finds another generation asks why, and the lease is lost', async () => {
  const database = new FakeDatabase()
  const { lease, renewal } = renewed(database, { lossReason: async () => 'taken' as const })
  database.generation = 2
  await vi.advanceTimersByTimeAsync(times.renewMs)
  expect(lease.signal.reason).toEqual(leaseLost('taken'))
  await vi.advanceTimersByTimeAsync(LEASE_MS)
  expect(vi.getTimerCount()).toBe(0)
  renewal.stop()
})

test('after a freeze a lease is over at once, although no timer has fired, and a late response does not renew it', () => {
  const lease = newLease()
  const now = performance.now()
  vi.spyOn(performance, 'now').mockReturnValue(now + times.runMs)
  expect([lease.isOver(), lease.signal.aborted]).toEqual([true, true])
  lease.confirm(now + times.runMs)
  expect(lease.isOver()).toBe(true)
})

test('a lease lasts while no process can write, and is over when that ends without a renewal', async () => {
  let isLocked = true
  const lease = newLease({}, { isLocked: () => isLocked })
  await vi.advanceTimersByTimeAsync(2 * LEASE_MS)
  expect([lease.isOver(), lease.signal.aborted]).toEqual([false, false])
  isLocked = false
  await vi.advanceTimersByTimeAsync(times.retryMs)
  expect(lease.signal.aborted).toBe(true)
})

test.each<[string, (lease: SqlLease) => Promise<unknown>, string[]]>([
  ['unclaim', (lease) => lease.unclaim('a'), []],
  ['note', (lease) => lease.note('half done'), ['change']],
  ['ask', (lease) => lease.ask([{} as NewQuestion], undefined), []],
  ['end', (lease) => lease.end({ status: 'completed', result: {} }), ['change']],
  ['giveBack', (lease) => lease.giveBack(), []],
  ['giveBack', (lease) => lease.release(), []],
  ['abandon', (lease) => lease.abandon(), []],
])('a lease does %s when it is written, and the owner is notified after that', async (name, act, expected) => {
  const written = Promise.withResolvers<boolean>()
  const events: string[] = []
  const lease = newLease({ [name]: () => written.promise }, { onChange: () => void events.push('change') })
  const done = act(lease).then(() => events.push('done'))
  await vi.advanceTimersByTimeAsync(1)
  expect(events).toEqual([])
  written.resolve(true)
  await done
  expect(events).toEqual([...expected, 'done'])
  lease.lose('closed')
})

test('a step that ends the suspicion of a task is progress, and one that does not is none', async () => {
  const writes = { hasLosses: true, step: async () => true }
  const onProgress = vi.fn<() => void>()
  const lease = newLease(writes, { onProgress })
  await lease.step('a', {})
  expect(onProgress).not.toHaveBeenCalled()
  writes.step = async () => !(writes.hasLosses = false)
  await lease.step('b', {})
  expect(onProgress).toHaveBeenCalledTimes(1)
  await lease.step('c', {})
  expect(onProgress).toHaveBeenCalledTimes(1)
  lease.lose('closed')
})

test.each<[string, () => Promise<LossReason | undefined>, LossReason]>([
  ['the reason of the database', async () => 'cancelled', 'cancelled'],
  ['taken where the database is away', () => Promise.reject(new Error('away')), 'taken'],
])('a write that finds the lease gone has lost it, and why is %s', async (_, lossReason, reason) => {
  const lease = newLease({ unclaim: async () => false, lossReason })
  await expect(lease.unclaim('a')).rejects.toEqual(leaseLost(reason))
  expect([lease.isOver(), lease.signal.aborted]).toEqual([true, true])
})

test('a write that has nothing to do keeps the lease where the database says that it is held', async () => {
  const lease = newLease({ unclaim: async () => false, lossReason: async () => undefined })
  await lease.unclaim('a')
  expect(lease.isOver()).toBe(false)
  lease.lose('closed')
})

test('a task that expires is lost when its time is over, unless that is too far away for a timer', async () => {
  const more = { isLocked: () => true }
  const [soon, late] = [1000, 2 ** 31 - 1].map((leftMs) => newLease({}, more, { ...claimed, leftMs }))
  await vi.advanceTimersByTimeAsync(999)
  expect([soon!.isOver(), late!.isOver()]).toEqual([false, false])
  await vi.advanceTimersByTimeAsync(1)
  expect([soon!.isOver(), late!.isOver()]).toEqual([true, false])
  expect(soon!.signal.reason).toEqual(leaseLost('expired'))
  late!.lose('closed')
})
