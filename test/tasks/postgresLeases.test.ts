/** What outages cost, seen by the worker that holds leases and by another one that waits for them. */
import { expect, test, vi } from 'vitest'
import type { Lease } from '../../src/tasks/engine.ts'
import { leaseTimes } from '../../src/tasks/leaseTimes.ts'
import { amount } from '../amount.ts'
import { newDatabase, runSql } from '../postgres/database.ts'
import { EngineFixture } from '../postgres/engineFixture.ts'
import { newTask } from './contract/harness.ts'
import { TcpProxy } from '../postgres/tcpProxy.ts'

// The tests of src/tasks/sql/lease.test.ts know the limit. Here connections have to be opened, which takes long on a
// busy machine.
const LEASE_MS = amount(4000, 6000)
const OUTAGE = amount(0.2, 0.45)
const TASKS = 8
const { holdMs, renewMs } = leaseTimes(LEASE_MS)
const fixture = new EngineFixture()

interface Held {
  readonly proxy: TcpProxy
  /** When the first lease is over, and the time now, by the database's clock. */
  readonly times: () => Promise<{ readonly until: number; readonly now: number }>
  readonly leases: readonly Lease[]
  /** When each lease was lost, and when another worker got its task. */
  readonly lostAt: ReadonlyMap<string, number>
  readonly takenAt: ReadonlyMap<string, number>
}

/** Leases of a worker whose connections can be cut. Another one waits for them. */
async function hold(): Promise<Held> {
  const url = new URL(await newDatabase())
  const direct = url.href
  const proxy = await TcpProxy.start(Number(url.port))
  const over = Promise.withResolvers<void>()
  const { engine: taker } = await fixture.open({ url: url.href }, { leaseMs: LEASE_MS })
  fixture.onTestEnd(() => proxy.close())
  url.port = String(proxy.port)
  const { engine } = await fixture.open({ url: url.href }, { leaseMs: LEASE_MS })

  const leases: Lease[] = []
  const lostAt = new Map<string, number>()
  const takenAt = new Map<string, number>()
  const working = engine.work({
    tools: ['chore'],
    concurrency: TASKS,
    run: async (lease) => {
      lease.signal.addEventListener('abort', () => lostAt.set(lease.id, performance.now()))
      leases.push(lease)
      await over.promise
    },
  })
  for (let count = 0; count < TASKS; count++) await taker.create(newTask())
  await vi.waitFor(() => expect(leases).toHaveLength(TASKS))
  void working.stop()
  fixture.work(taker, async (lease) => {
    takenAt.set(lease.id, performance.now())
    await over.promise
  })
  fixture.onTestEnd(() => over.resolve())
  fixture.onTestEnd(() => proxy.open())
  const times = async () => {
    const text = `SELECT min(leased_until)::float8 AS until, extract(epoch FROM now())::float8 * 1000 AS now
      FROM pannier.tasks WHERE worker IS NOT NULL`
    const [row] = await runSql<{ until: number; now: number }>(direct, text)
    if (row === undefined) throw new Error('There is always a row.')
    return row
  }
  return { proxy, leases, lostAt, takenAt, times }
}

/** Waits until the leases that the database knows now would be over, had none been renewed. */
async function formerLeasesOver({ times }: Held): Promise<void> {
  const { until } = await times()
  await vi.waitFor(async () => expect((await times()).now).toBeGreaterThan(until))
}

test('an outage of less than half of leaseMs costs no lease; in a longer one each run is over before the next begins', async () => {
  const held = await hold()
  const { proxy, leases, lostAt, takenAt, times } = held
  proxy.cut()
  // The cut may have come right after a renewal.
  const leftMs = holdMs - renewMs - OUTAGE * LEASE_MS
  await vi.waitFor(async () => {
    const { until, now } = await times()
    expect(until - now).toBeLessThan(leftMs)
  })
  proxy.open()
  await formerLeasesOver(held)
  expect([lostAt.size, takenAt.size]).toEqual([0, 0])
  await Promise.all(leases.map((lease) => lease.step('after', {})))

  proxy.cut()
  // They come back one at a time.
  await vi.waitFor(() => expect(takenAt.size).toBeGreaterThanOrEqual(2))
  expect(leases.every((lease) => lease.isOver())).toBe(true)
  for (const [id, at] of takenAt) expect(at).toBeGreaterThan(lostAt.get(id) ?? Number.POSITIVE_INFINITY)
})

test('connections on which there is no response any more cost no lease if new ones can be opened', async () => {
  const held = await hold()
  const { proxy, leases, lostAt, takenAt } = held
  proxy.silenceConnections()
  await formerLeasesOver(held)
  expect([lostAt.size, takenAt.size]).toEqual([0, 0])
  await Promise.all(leases.map((lease) => lease.step('after', {})))
})
