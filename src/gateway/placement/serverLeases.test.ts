import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { type CallerPlace, ServerLeases, type ServerLeasesOptions } from './serverLeases.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

/** The leases of a gateway that gets every caller it asks for. */
function begin() {
  let generation = 0
  const release = vi.fn(async () => {})
  const claim = vi.fn(async () => ({ kind: 'here', generation: String(++generation), session: undefined }))
  const ask = async (statement: () => Promise<unknown>) => statement()
  const gateway = { gateway: { id: 'me', address: undefined }, isValid: true, known: async () => true, ask }
  const unreleased = new Map()
  const parts = { placements: { claim, release }, gateway, sessions: {}, unreleased } as unknown as ServerLeasesOptions
  return {
    leases: new ServerLeases({ ...parts, name: 's', serverKey: 's', idleMs: 1000, former: () => [] }),
    claim,
    release,
  }
}

function leaseIn(place: CallerPlace) {
  return place.kind === 'here' ? place.lease : expect.fail('It is elsewhere.')
}

test('callers for whom nothing was opened are given up two minutes after their last call, and others are kept', async () => {
  const { leases, claim, release } = begin()
  const lease = leaseIn(await leases.find('ann'))
  leaseIn(await leases.find('bob')).use({ onLost: () => {}, onLapsed: () => {} })
  await vi.advanceTimersByTimeAsync(100_000)
  await leases.find('ann')
  await vi.advanceTimersByTimeAsync(120_000)
  await leases.releaseUnused()
  expect(release).not.toHaveBeenCalled()
  await vi.advanceTimersByTimeAsync(1)
  await leases.releaseUnused()
  expect(release.mock.calls).toEqual([[lease, false]])
  expect(lease.isValid).toBe(false)
  await leases.find('bob')
  expect(claim).toHaveBeenCalledTimes(2)
  expect(leaseIn(await leases.find('ann')).generation).toBe('3')
})

test('a caller whom the database may give up at any time later is taken under another generation, once', async () => {
  const { leases, claim, release } = begin()
  const fresh = () => claim.mock.calls.map((args: unknown[]) => args[2])
  release.mockRejectedValueOnce(new Error('The database does not answer.'))
  await leases.release(leaseIn(await leases.find('ann')), false)
  await leases.release(leaseIn(await leases.find('ann')), false)
  await leases.find('ann')
  expect(fresh()).toEqual([false, true, false])
})
