import { once } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import type { Lease, TaskRecord } from '../../../src/tasks/engine.ts'
import { newTask, question, type ContractHarness } from './harness.ts'

const done = { status: 'completed', result: { content: [{ type: 'text', text: 'é\u0000' }] } } as const
const failed = { status: 'failed', failure: { code: -32603, message: 'No.', data: { why: ['x'] } } } as const

const writes: readonly [name: string, write: (lease: Lease) => Promise<unknown>][] = [
  ['step', (lease) => lease.step('late', { value: 1 })],
  ['claim', (lease) => lease.claim('late')],
  ['unclaim', (lease) => lease.unclaim('claimed')],
  ['note', (lease) => lease.note('late')],
  ['ask', (lease) => lease.ask([question('late')], 'late')],
  ['end', (lease) => lease.end(done)],
  ['giveBack', (lease) => lease.giveBack()],
]

/** How tasks and leases end: once, and finally. */
export function declareEndings(harness: ContractHarness): void {
  test('a completed task has its result, and a failed one its failure', async () => {
    const engine = await harness.engine()
    const [good, bad] = [await engine.create(newTask()), await engine.create(newTask())]
    const worker = harness.worker(engine)
    await (await worker.nextLease()).end({ ...done, statusMessage: 'All of it' })
    await (await worker.nextLease()).end(failed)
    const [completed, broken] = [await engine.read(good.id, 'ann'), await engine.read(bad.id, 'ann')]
    expect(completed).toMatchObject({ status: 'completed', result: done.result, failure: undefined })
    expect(completed?.statusMessage).toBe('All of it')
    expect(broken).toMatchObject({ status: 'failed', result: undefined, failure: failed.failure })
  })

  test('a note is seen by the owner until the task ends', async () => {
    const { engine, lease } = await leased(harness)
    const seen = async () => (await engine.read(lease.id, 'ann'))?.statusMessage
    await lease.note('half\u0000 of it 😀')
    expect(await seen()).toBe('half\u0000 of it 😀')
    const noted = await engine.read(lease.id, 'ann')
    await sleep(5)
    await lease.note('half\u0000 of it 😀')
    expect(await engine.read(lease.id, 'ann')).toEqual(noted)
    await lease.note('most of it')
    expect(await seen()).toBe('most of it')
    await lease.end(done)
    expect(await seen()).toBeUndefined()
  })

  test('a task ends once', async () => {
    const { engine, lease } = await leased(harness)
    const ends = await Promise.allSettled([lease.end(done), lease.end(failed), lease.end(done)])
    expect(ends.map(({ status }) => status)).toEqual(['fulfilled', 'rejected', 'rejected'])
    const ended = await engine.read(lease.id, 'ann')
    expect(ended?.status).toBe('completed')
    expect(await engine.cancel(lease.id, 'ann')).toEqual(ended)
    expect(await engine.read(lease.id, 'ann')).toEqual(ended)
  })

  test('a task that is ready, running or asking is cancelled at once', async () => {
    const { engine, worker, lease: running } = await leased(harness)
    const ready = await engine.create(newTask({ tool: 'unserved' }))
    await engine.create(newTask())
    const asking = await worker.nextLease()
    await asking.ask([question('a')], undefined)
    for (const { id } of [ready, running, asking]) {
      const cancelled = await engine.cancel(id, 'ann')
      expect(cancelled).toMatchObject({ status: 'cancelled', result: undefined, failure: undefined })
      expect(cancelled?.questions.size).toBe(0)
      expect(await engine.cancel(id, 'ann')).toEqual(cancelled)
      expect(await engine.read(id, 'ann')).toEqual(cancelled)
    }
    worker.serve('unserved')
    const next = await engine.create(newTask())
    expect((await worker.nextLease()).id).toBe(next.id)
    expect(worker.untaken).toBe(0)
  })

  test('cancelling aborts the signal of the run, also in another process', async () => {
    const other = await harness.engine()
    for (const by of ['itself', 'another']) {
      const { engine, worker, lease } = await leased(harness)
      const aborted = once(lease.signal, 'abort')
      await (by === 'itself' ? engine : other).cancel(lease.id, 'ann')
      await aborted
      expect(lease.signal.reason).toMatchObject({ code: 'LEASE_LOST' })
      expect(String(lease.signal.reason)).toContain('cancelled')
      // The next task is for the worker of the next turn.
      await worker.stop()
    }
  })

  test('when an end and a cancellation race, one of them takes effect, and the worker knows which', async () => {
    const [engine, other] = [await harness.engine(), await harness.engine()]
    const worker = harness.worker(engine)
    const ended: TaskRecord['status'][] = []
    for (let turn = 0; turn < 12; turn++) {
      const { id } = await engine.create(newTask())
      const lease = await worker.nextLease()
      const racers = [() => lease.end(done), () => (turn % 4 < 2 ? engine : other).cancel(id, 'ann')]
      const inOrder = turn % 2 === 0 ? racers : racers.toReversed()
      // The first two turns are no race, so that each of the outcomes is seen.
      if (turn < 2) await Promise.allSettled([inOrder.shift()?.()])
      const outcomes = await Promise.allSettled(inOrder.map((race) => race()))
      const won = outcomes.every(({ status }) => status === 'fulfilled')
      const task = await other.read(id, 'ann')
      expect(task?.status).toBe(won ? 'completed' : 'cancelled')
      expect(task?.result).toEqual(won ? done.result : undefined)
      if (task) ended.push(task.status)
    }
    expect(new Set(ended)).toEqual(new Set(['completed', 'cancelled']))
  })

  test.each(writes)('a run whose task was cancelled cannot %s', async (_, write) => {
    const other = await harness.engine()
    const { engine, lease } = await leased(harness)
    await lease.claim('claimed')
    const cancelled = await other.cancel(lease.id, 'ann')
    await expect(write(lease)).rejects.toMatchObject({ code: 'LEASE_LOST' })
    expect(await engine.read(lease.id, 'ann')).toEqual(cancelled)
  })

  test.each(writes)('a run that gave its task back cannot %s', async (_, write) => {
    const { engine, worker, lease } = await leased(harness)
    await lease.claim('claimed')
    await lease.giveBack()
    const next = await worker.nextLease()
    await expect(write(lease)).rejects.toMatchObject({ code: 'LEASE_LOST' })
    expect(next.journal.steps.size).toBe(0)
    expect(await next.claim('claimed')).toBe('running')
    await next.end(done)
    expect(await engine.read(lease.id, 'ann')).toMatchObject({ status: 'completed', statusMessage: undefined })
  })

  test('a run whose task expires is aborted and cannot write', async () => {
    const { engine, lease } = await leased(harness, 300)
    await once(lease.signal, 'abort')
    await expect(lease.end(done)).rejects.toMatchObject({ code: 'LEASE_LOST' })
    await vi.waitFor(async () => expect(await engine.read(lease.id, 'ann')).toBeUndefined())
  })
}

/** An engine with one running task, and free slots. */
async function leased(harness: ContractHarness, ttlMs = 60_000) {
  const engine = await harness.engine()
  const { id } = await engine.create(newTask({ ttlMs }))
  const worker = harness.worker(engine)
  const lease = await worker.nextLease()
  expect(lease.id).toBe(id)
  return { engine, worker, lease }
}
