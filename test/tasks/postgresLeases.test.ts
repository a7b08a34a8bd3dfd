/** What outages cost, seen by the worker that holds leases and by another one that waits for them. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test } from 'vitest'
import type { Lease } from '../../src/tasks/engine.ts'
import { amount } from '../amount.ts'
import { newDatabase } from '../postgres/database.ts'
import { EngineFixture } from '../postgres/engineFixture.ts'
import { newTask } from './contract/harness.ts'
import { TcpProxy } from '../postgres/tcpProxy.ts'

// The tests of src/tasks/sql/lease.test.ts know the limit. Here connections have to be opened, which takes long on a
// busy machine.
const LEASE_MS = amount(4000, 6000)
const OUTAGE = amount(0.2, 0.45)
const TASKS = 8
const fixture = new EngineFixture()

interface Held {
  readonly proxy: TcpProxy
  readonly leases: readonly Lease[]
  /** When each lease was lost, and when another worker got its task. */
  readonly lostAt: ReadonlyMap<string, number>
  readonly takenAt: ReadonlyMap<string, number>
}

/** Leases that are renewed at different times, by a worker whose connections can be cut. Another one waits for them. */
async function hold(): Promise<Held> {
  const url = new URL(await newDatabase())
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
  for (let count = 0; count < TASKS; count++) {
    await taker.create(newTask())
    await sleep(LEASE_MS / 6 / TASKS)
  }
  while (leases.length < TASKS) await sleep(10)
  void working.stop()
  fixture.work(taker, async (lease) => {
    takenAt.set(lease.id, performance.now())
    await over.promise
  })
  fixture.onTestEnd(() => over.resolve())
  fixture.onTestEnd(() => proxy.open())
  return { proxy, leases, lostAt, takenAt }
}

test('an outage of less than half of leaseMs costs no lease; in a longer one each run is over before the next begins', async () => {
  const { proxy, leases, lostAt, takenAt } = await hold()
  proxy.cut()
  await sleep(OUTAGE * LEASE_MS)
  proxy.open()
  // Leases that could not be renewed in time would be over by then.
  await sleep(LEASE_MS / 2)
  expect([lostAt.size, takenAt.size]).toEqual([0, 0])
  await Promise.all(leases.map((lease) => lease.step('after', {})))

  proxy.cut()
  // They come back one at a time.
  while (takenAt.size < 2) await sleep(10)
  expect(leases.every((lease) => lease.isOver())).toBe(true)
  for (const [id, at] of takenAt) expect(at).toBeGreaterThan(lostAt.get(id) ?? Number.POSITIVE_INFINITY)
})

test('connections on which there is no response any more cost no lease if new ones can be opened', async () => {
  const { proxy, leases, lostAt, takenAt } = await hold()
  proxy.silenceConnections()
  await sleep(LEASE_MS)
  expect([lostAt.size, takenAt.size]).toEqual([0, 0])
  await Promise.all(leases.map((lease) => lease.step('after', {})))
})
