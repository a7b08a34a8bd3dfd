import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { MethodParts } from '../../server/internal.ts'
import { BackendError } from '../errors.ts'
import { CallForwarding, type PlacedTarget, type PlacingCall } from './forwarding.ts'
import { LeasedPlacement } from './leasedPlacement.ts'
import type { ServerLeases } from './serverLeases.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function placementWith(given: object): LeasedPlacement {
  const parts = given as MethodParts
  return new LeasedPlacement(parts, new CallForwarding(parts, () => expect.fail('No caller is asked in place.')))
}

test('a call that waits for the lease of a silent gateway to end waits no longer than its caller', async () => {
  let leftMs = 20_000
  const claimFrom = vi.fn(async () => ({ kind: 'leased', leftMs: (leftMs -= 200), isStopping: false }))
  const find = async () => ({ kind: 'elsewhere', owner: { id: 'silent', address: undefined } })
  const unreachable = () => new Error('Not begun.')
  const leases = { find, claimFrom, unreachable, forget: () => {} } as unknown as ServerLeases
  const cancel: (() => void)[] = []
  const call = { channel: { onCancel: (listener: () => void) => void cancel.push(listener) } }
  const target = { backend: { name: 's' }, name: 't' } as unknown as PlacedTarget
  const placement = placementWith({})
  const forwarded = placement.forward({ call } as unknown as PlacingCall, target, leases, 'ann')
  const failed = forwarded.catch((error: unknown) => error)
  await vi.advanceTimersByTimeAsync(1000)
  expect(claimFrom).toHaveBeenCalledTimes(6)
  for (const each of cancel) each()
  expect(await failed).toEqual(unreachable())
  await vi.advanceTimersByTimeAsync(10_000)
  expect(claimFrom).toHaveBeenCalledTimes(6)
})

const unplaced = new BackendError('CALLER_UNPLACED', 's', 'cannot be looked up. The call was not begun.')

test.each([
  ['is lost, even if that gateway releases the caller', false, async () => ({ kind: 'claimed' }), 'CALL_LOST'],
  [
    'runs here once that gateway has lost the caller, if it is replayable',
    true,
    async () => ({ kind: 'claimed' }),
    undefined,
  ],
  [
    'is lost where PostgreSQL cannot be asked, and not one to call again',
    true,
    () => Promise.reject(unplaced),
    'CALL_LOST',
  ],
])('a call that a silent gateway may have begun %s', async (_, isReplayable, claimFrom, reason) => {
  let isClaimed = false
  const leases = {
    find: async () =>
      isClaimed ? { kind: 'here' } : { kind: 'elsewhere', owner: { id: 'silent', address: 'http://127.0.0.1:1' } },
    claimFrom: async () => {
      const claim = await claimFrom()
      isClaimed = true
      return claim
    },
    forget: () => {},
  } as unknown as ServerLeases
  const parts = {
    scope: { self: {}, discovery: { find: async (url: string) => ({ id: 'silent', url }) } },
    calls: { forward: async () => ({ kind: 'silent', why: 'no reply in time' }) },
  }
  const peer = { era: 'modern', takesInputRequired: true, capabilities: {} }
  const call = { method: 'tools/call', params: {}, meta: {}, peer, channel: { onCancel: () => {} } }
  const target = { backend: { name: 's' }, name: 't', isReplayable } as unknown as PlacedTarget
  const placement = placementWith(parts)
  const forwarding = placement.forward({ call } as unknown as PlacingCall, target, leases, 'ann')
  const outcome = await forwarding.catch((error: unknown) => (error as BackendError).reason)
  expect(outcome).toBe(reason)
})

test.each([
  ['waits for the release where that gateway is being stopped', true, undefined],
  ['fails where it is there', false, 'Not begun.'],
])('a call to a gateway that cannot be reached and renews its lease %s', async (_, isStopping, failure) => {
  let looks = 0
  const claimFrom = async () => ({ kind: 'leased', leftMs: 10_000 + (looks += 1), isStopping })
  const find = async () =>
    looks < 5 ? { kind: 'elsewhere', owner: { id: 'stops', address: undefined } } : { kind: 'here' }
  const leases = { find, claimFrom, unreachable: () => new Error('Not begun.'), forget: () => {} }
  const call = { channel: { onCancel: () => {} } }
  const target = { backend: { name: 's' }, name: 't' } as unknown as PlacedTarget
  const placement = placementWith({})
  const recorded = { call } as unknown as PlacingCall
  const forwarded = placement.forward(recorded, target, leases as unknown as ServerLeases, 'ann')
  const outcome = forwarded.catch((error: unknown) => (error as Error).message)
  await vi.advanceTimersByTimeAsync(5000)
  expect(await outcome).toBe(failure)
})
