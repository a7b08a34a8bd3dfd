import { describe, expect, test, vi } from 'vitest'
import { newTask, Stage } from '../../src/tasks/contract/stage.ts'
import { WorkerProcess } from '../../src/tasks/contract/workerProcess.ts'
import { runSql } from '../postgres/database.ts'
import { newPostgresStore, type PostgresStore } from '../postgres/engineStore.ts'

const HOUR_MS = 3_600_000
const LEASE_MS = 1000

/** Preloaded, sets the clock of a process wrong. */
function wrongBy(ms: number): string {
  const source = `
    const Right = Date
    globalThis.Date = class extends Right {
      constructor(...given) { given.length === 0 ? super(Right.now() + ${ms}) : super(...given) }
      static now() { return Right.now() + ${ms} }
    }`
  return `data:text/javascript,${encodeURIComponent(source)}`
}

describe.each([HOUR_MS, -HOUR_MS])('a worker whose clock is wrong by %i ms', (wrongByMs) => {
  let store: PostgresStore
  const stage = new Stage(async () => (store = await newPostgresStore('--import', wrongBy(wrongByMs))))

  test('keeps its lease while it lives, and loses it when it dies', async () => {
    const engine = await stage.engine({ leaseMs: LEASE_MS })
    const worker = new WorkerProcess(stage, { leaseMs: LEASE_MS })
    const { id } = await engine.create(newTask())
    await worker.event('holds')
    const hand = stage.hand(engine)

    // A lease is renewed four times in its time; eight renewals are two leases.
    const seen = new Set<string>()
    await vi.waitFor(
      async () => {
        seen.add(await dueAt(store))
        expect(seen.size).toBeGreaterThan(8)
      },
      { timeout: 10 * LEASE_MS, interval: 50 },
    )
    expect([hand.spare, worker.told('lost')]).toEqual([0, []])

    await worker.kill()
    const killedAt = performance.now()
    expect((await hand.next()).id).toBe(id)
    expect(performance.now() - killedAt).toBeLessThan(2 * LEASE_MS)
  })
})

async function dueAt({ url, schema }: PostgresStore): Promise<string> {
  const [row] = await runSql<{ due: string }>(url, `SELECT start_after::text AS due FROM ${schema}_jobs.job`)
  return row?.due ?? ''
}
