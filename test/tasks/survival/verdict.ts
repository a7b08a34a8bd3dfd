/** What must be true of jobs when all is over, whatever happened to the instances that ran them. */
import { expect } from 'vitest'
import type { TaskRecord } from 'pannier/tasks'
import type { Done } from './customer.ts'
import type { Effects } from './effects.ts'
import type { Fleet } from './fleet.ts'

/** What a task says that does not know whether it has paid. */
export const UNSETTLED = /^An earlier attempt began "pay" and did not report its end/

/** Each has the right result, did each piece of work at least once, and paid once. */
export function expectDone(all: readonly Done[], effects: Effects): void {
  const byJob = Map.groupBy(effects.all(), ({ job }) => job)
  for (const { job, text, wanted } of all) {
    const names = (byJob.get(job.job) ?? []).map(({ name }) => name)
    const payments = names.filter((name) => name === 'pay').length
    // A payment that must not be tried again is made at most once, and a task that does not know of it says so.
    if (job.retries === false && text !== wanted) {
      expect(text).toMatch(UNSETTLED)
      expect(payments, `payments of ${job.job}`).toBeLessThanOrEqual(1)
      continue
    }
    expect(text).toBe(wanted)
    expect(names).toEqual(expect.arrayContaining(['draw', 'cut', 'pay', 'paint']))
    expect(job.retries === false ? payments : effects.charges(job.job), `payments of ${job.job}`).toBe(1)
  }
}

/** The store has these tasks and no others, and none has changed since its end was first seen. */
export async function expectUnchanged(all: readonly Done[], fleet: Fleet): Promise<void> {
  const engine = await fleet.engine()
  const records = new Map<string, TaskRecord>()
  let after: string | undefined
  do {
    const page = await engine.list('', after, 100)
    for (const record of page.tasks) records.set(record.id, record)
    after = page.next
  } while (after !== undefined)
  expect([...records.keys()].toSorted()).toEqual(all.map(({ taskId }) => taskId).toSorted())
  for (const { taskId, task } of all) {
    const { status, result, updatedAt = 0 } = records.get(taskId) ?? {}
    expect({ status, result, at: new Date(updatedAt).toISOString() }).toEqual({
      status: task.status,
      result: task.result,
      at: task.lastUpdatedAt,
    })
  }
}
