/** What is made of the rows that the statements of a run give, without a database. */
import { describe, expect, test } from 'vitest'
import { question } from '../../../test/tasks/contract/harness.ts'
import { engineSettings } from '../../tasks/internal.ts'
import { LeaseWrites, type PostgresLeaseKey } from './leaseWrites.ts'
import type { PostgresTaskStore } from './store.ts'

const key = { task: '1', epoch: '2', queue: 'q', job: 'j', losses: 0, crashes: 0, shared: false }

/** Writes whose statements give these rows, and what was done beside them. */
function begin(rows: object[], more: Partial<PostgresLeaseKey> = {}) {
  const done: unknown[] = []
  const later = async (what: unknown) => {
    await new Promise((resolve) => setImmediate(resolve))
    done.push(what)
    return true
  }
  const sql = {
    rows: async (text: string, values: unknown[]) => {
      done.push({ text, values })
      return rows
    },
  }
  const store = {
    settings: engineSettings({}),
    database: {
      names: { tables: 'pannier' },
      statements: async () => sql,
      transaction: async (_: unknown, run: (given: typeof sql) => unknown) => run(sql),
    },
    jobs: {
      remove: (_: unknown, queue: string, jobs: string[]) => later(['remove', queue, jobs]),
      postpone: (_: unknown, queue: string, job: string, ms: number) => later(['postpone', queue, job, ms]),
    },
  }
  const writes = new LeaseWrites(store as unknown as PostgresTaskStore, { ...key, ...more })
  return { writes, done, jobs: () => done.filter((what) => Array.isArray(what)) }
}

const held = [{}]

describe('a step', () => {
  test.each([
    ['has lost no worker', {}, false],
    ['has lost a worker', { losses: 1 }, true],
    ['has lost a process', { crashes: 1 }, true],
  ])('of a task that %s', async (_, more, hasLosses) => {
    const { writes } = begin([{ is_new: true }], more)
    expect(writes.hasLosses).toBe(hasLosses)
    expect([await writes.step('a', {}), writes.hasLosses]).toEqual([true, false])
  })

  test('that was there before is no progress, and one of a lost lease is none', async () => {
    const again = begin([{ is_new: false }], { losses: 1 })
    expect([await again.writes.step('a', {}), again.writes.hasLosses]).toEqual([true, true])
    const lost = begin([], { losses: 1 })
    expect([await lost.writes.step('a', {}), lost.writes.hasLosses]).toEqual([false, true])
    expect(await begin([]).writes.step('a', {})).toBe(false)
  })

  test('has its result as JSON, or none', async () => {
    const { writes, done } = begin(held)
    await writes.step('a', { value: { b: 1 } })
    await writes.step('a', {})
    expect(done).toMatchObject([{ values: ['1', '2', '"a"', '{"b":1}'] }, { values: ['1', '2', '"a"', null] }])
  })
})

test.each<[string, object[], string | false]>([
  ['fresh, where it is this attempt', [{ attempt: 'mine' }], 'fresh'],
  ['running, where it is another', [{ attempt: 'other' }], 'running'],
  ['running, where it was made without a name', [{ attempt: null }], 'running'],
  ['none, where the lease is lost', [], false],
])('a claim is %s', async (_, rows, expected) => {
  expect(await begin(rows).writes.claim('a', 'mine')).toBe(expected)
})

test.each<[string, (writes: LeaseWrites) => Promise<unknown>, unknown[]]>([
  ['unclaim', (writes) => writes.unclaim('a'), []],
  ['note', (writes) => writes.note('half', undefined), []],
  ['setOnTrial', (writes) => writes.setOnTrial(true), []],
  ['end', (writes) => writes.end({ status: 'completed', result: {} }), [['remove', 'q', ['j']]]],
  ['giveBack', (writes) => writes.giveBack(), [['postpone', 'q', 'j', 0]]],
  ['ask nothing', (writes) => writes.ask([], undefined), [['postpone', 'q', 'j', 0]]],
  ['ask', (writes) => writes.ask([question('a')], { own: 1 }), [['remove', 'q', ['j']]]],
])('%s is done with its job where the lease is held, and nothing is where it is lost', async (_, act, jobs) => {
  const here = begin(held)
  expect([await act(here.writes), here.jobs()]).toEqual([true, jobs])
  const lost = begin([])
  expect([await act(lost.writes), lost.jobs()]).toEqual([false, []])
})

test('what a task ended with is stored by its kind', async () => {
  const { writes, done } = begin(held)
  await writes.end({ status: 'completed', result: { a: 1 }, statusMessage: 'done' })
  await writes.end({ status: 'failed', failure: { code: -1, message: 'no' } })
  const values = done.flatMap((what) =>
    Array.isArray(what) ? [] : [(what as { values: unknown[] }).values.slice(2, 6)],
  )
  expect(values).toEqual([
    ['completed', '"done"', '{"a":1}', null],
    ['failed', null, null, '{"code":-1,"message":"no"}'],
  ])
})

test('that a worker runs others is written once', async () => {
  const { writes, done } = begin([])
  await writes.markShared()
  await writes.markShared()
  expect(done).toHaveLength(1)
  const before = begin([], { shared: true })
  await before.writes.markShared()
  expect(before.done).toEqual([])
})

test('a lease is renewed by its job', async () => {
  const { writes, jobs } = begin([])
  expect([await writes.renew(500, 100), jobs()]).toEqual([true, [['postpone', 'q', 'j', 500]]])
})

test.each<[object[], string | undefined]>([
  [[], 'expired'],
  [[{ status: 'working', is_held: true }], undefined],
  [[{ status: 'cancelled', is_held: false }], 'cancelled'],
  [[{ status: 'working', is_held: false }], 'taken'],
])('a lease with the row %j is lost because: %s', async (rows, reason) => {
  expect(await begin(rows).writes.lossReason()).toBe(reason)
})
