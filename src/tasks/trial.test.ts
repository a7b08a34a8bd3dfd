import { expect, test, vi } from 'vitest'
import { leaseLost } from './errors.ts'
import { retryMs, type SuspectLease, trialMs, TrialSlot } from './trial.ts'

test.each([
  [1, 500, 0],
  [2, 1000, 250],
  [3, 2000, 500],
  [8, 60_000, 16_000],
  [20, 60_000, 30_000],
])(
  'a task that has lost %i processes in a row is on trial for %i ms, after a pause of %i ms',
  (crashes, trial, pause) => {
    expect([trialMs(crashes), retryMs(crashes)]).toEqual([trial, pause])
  },
)

/** A lease that records its trial, and a run that ends when the test says so. */
function suspect(write: SuspectLease['setOnTrial'] = async () => {}) {
  const setOnTrial = vi.fn<SuspectLease['setOnTrial']>(write)
  const ended = Promise.withResolvers<void>()
  const run = vi.fn<() => Promise<void>>(() => ended.promise)
  return { lease: { setOnTrial, signal: new AbortController().signal }, run, end: () => ended.resolve() }
}

const onFree = vi.fn<() => void>()
const alone = { crashes: 1, isAlone: () => true, isStopped: () => false }

test('a slot is taken from the claim of a suspect to the end of its run, and others come first for as long again', async () => {
  const slot = new TrialSlot(onFree)
  const { lease, run, end } = suspect()
  const tried = slot.try({ ...alone, lease, run })
  expect([slot.isTaken, slot.pauseMs]).toEqual([true, 0])
  await vi.waitFor(() => expect(run).toHaveBeenCalledTimes(1))
  end()
  expect(await tried).toBe(true)
  expect(slot.isTaken).toBe(false)
  expect(slot.pauseMs).toBeGreaterThan(0)
  expect(lease.setOnTrial.mock.calls).toEqual([[true]])
})

test('a suspect waits for other runs, but not for longer than its trial lasts', async () => {
  const slot = new TrialSlot(onFree)
  const { lease, run, end } = suspect()
  const began = performance.now()
  const isAlone = vi.fn<() => boolean>(() => false)
  const tried = slot.try({ ...alone, isAlone, lease, run })
  await vi.waitFor(() => expect(run).toHaveBeenCalledTimes(1), 3000)
  expect(performance.now() - began).toBeGreaterThan(trialMs(1) - 10)
  expect(isAlone.mock.calls.length).toBeLessThan(60) // it looks every 20 ms
  end()
  await tried
})

test('a trial is over after its time, although the run goes on', async () => {
  const slot = new TrialSlot(onFree)
  const { lease, run, end } = suspect()
  const tried = slot.try({ ...alone, lease, run })
  await vi.waitFor(() => expect(slot.isTaken).toBe(false), 3000)
  expect(lease.setOnTrial.mock.calls).toEqual([[true], [false]])
  end()
  await tried
})

test('a lease that was lost does not keep the slot, even if its handler does not return', async () => {
  const slot = new TrialSlot(onFree)
  const { lease, run, end } = suspect(async (isOnTrial) => {
    if (!isOnTrial) throw leaseLost('cancelled')
  })
  const tried = slot.try({ ...alone, lease, run })
  await vi.waitFor(() => expect(slot.isTaken).toBe(false), 3000)
  end()
  await tried
})

test.each([
  ['its worker stops', { isStopped: () => true }, suspect()],
  ['its trial cannot be recorded', {}, suspect(() => Promise.reject(new Error('The store is away.')))],
])('a suspect is not run when %s', async (_, given, { lease, run }) => {
  const slot = new TrialSlot(onFree)
  expect(await slot.try({ ...alone, ...given, lease, run })).toBe(false)
  expect(run).not.toHaveBeenCalled()
  expect(slot.isTaken).toBe(false)
})
