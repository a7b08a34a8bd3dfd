import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { ParkedCall } from './parkedCall.ts'
import { Parking } from './parking.ts'

const channel = { notify: () => {}, onCancel: () => {} }
const parkedBy = (caller: string, generation = 0) => ({ server: 'files', caller, chars: 10, parkMs: 1000, generation })
const NO_ROOM = /"files" has asked something, and too many calls wait .* What the call did until then may have happened/

let made = 0

/** A call that waits for ever, or has this result. */
function parked(result?: object, id = `call-${++made}`): ParkedCall {
  const call = new ParkedCall(id, { server: 'files', mayRepeat: () => false })
  const { promise, reject } = Promise.withResolvers<never>()
  const begun = call.begin(channel, async ({ ask, onCancel }) => {
    onCancel(() => reject(new Error('cancelled')))
    if (result !== undefined) return { ...result }
    await Promise.race([promise, ask({ method: 'roots/list' })])
    return {}
  })
  begun.catch(() => {})
  return call
}

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('keeps a call until nobody can answer it any more, and cancels it then', async () => {
  const parking = new Parking()
  const call = parked()
  parking.keep(call, parkedBy('ann'))
  expect(parking.find(call.id)).toBe(call)
  await vi.advanceTimersByTimeAsync(1001)
  expect(parking.find(call.id)).toBeUndefined()
  expect(call.hasEnded).toBe(true)
})

test('does not end a call while a client is there for it, and waits anew for the next answer', async () => {
  const parking = new Parking()
  const call = parked()
  parking.keep(call, parkedBy('ann'))
  await vi.advanceTimersByTimeAsync(900)
  expect(parking.resume(call.id)).toBe(call)
  await vi.advanceTimersByTimeAsync(900)
  parking.keep(call, parkedBy('ann', 1))
  await vi.advanceTimersByTimeAsync(900)
  expect(parking.find(call.id)).toBe(call)
  parking.resume(call.id)
  parking.keep(call, parkedBy('ann', 1))
  await vi.advanceTimersByTimeAsync(200)
  expect(parking.size).toBe(0)
})

test('waits no longer for its client because of a round that was refused, or came once more', async () => {
  const parking = new Parking()
  const call = parked()
  parking.keep(call, parkedBy('ann', 1))
  parking.resume(call.id)
  parking.leave(call)
  await vi.advanceTimersByTimeAsync(900)
  parking.resume(call.id)
  parking.keep(call, parkedBy('ann', 0))
  await vi.advanceTimersByTimeAsync(101)
  expect(parking.size).toBe(0)
  expect(call.hasEnded).toBe(true)
})

test('does not end a call while one round of it runs, when another one is over', async () => {
  const parking = new Parking()
  const call = parked()
  parking.keep(call, parkedBy('ann'))
  parking.resume(call.id)
  parking.resume(call.id)
  parking.leave(call)
  await vi.advanceTimersByTimeAsync(1001)
  expect(parking.find(call.id)).toBe(call)
})

test('ends a call whose place another one of the same id takes, and counts it no more', async () => {
  const parking = new Parking({ maxOfCaller: 1 })
  const [before, after] = [parked(undefined, 'call'), parked(undefined, 'call')]
  parking.keep(before, parkedBy('ann'))
  parking.enter(after, parkedBy('ann'))
  await vi.advanceTimersByTimeAsync(1)
  expect([before.hasEnded, after.hasEnded, parking.find('call') === after]).toEqual([true, false, true])
})

test('ends a call that asks for more room in a later round than its caller has', async () => {
  const parking = new Parking({ maxCharsOfCaller: 25 })
  const [large, small] = [parked(), parked()]
  parking.keep(large, parkedBy('ann'))
  parking.keep(small, parkedBy('ann'))
  expect(() => parking.keep(large, { ...parkedBy('ann', 1), chars: 16 })).toThrow(NO_ROOM)
  await vi.advanceTimersByTimeAsync(1)
  expect([large.hasEnded, small.hasEnded]).toEqual([true, false])
  parking.keep(small, { ...parkedBy('ann', 1), chars: 25 })
})

test('keeps the end for a minute, for a client that did not get it', async () => {
  const parking = new Parking()
  const call = parked({ content: [] })
  parking.keep(call, parkedBy('ann'))
  expect(parking.waiting).toBe(1)
  await vi.advanceTimersByTimeAsync(59_000)
  expect(parking.resume(call.id)).toBe(call)
  expect(parking.waiting).toBe(0)
  await vi.advanceTimersByTimeAsync(2000)
  expect(parking.size).toBe(0)
})

test('keeps less where results are large, the oldest first', async () => {
  const parking = new Parking({ maxChars: 120 })
  const calls = Array.from({ length: 3 }, () => parked({ text: 'x'.repeat(30) }))
  for (const call of calls) parking.keep(call, parkedBy('ann'))
  await vi.advanceTimersByTimeAsync(1)
  expect(calls.map(({ id }) => parking.find(id) !== undefined)).toEqual([false, true, true])
})

test('has room for the calls of others when one caller has parked too many', async () => {
  const parking = new Parking({ maxCalls: 3, maxOfCaller: 2 })
  for (let time = 0; time < 2; time++) parking.keep(parked(), parkedBy('ann'))
  const another = parked()
  expect(() => parking.keep(another, parkedBy('ann'))).toThrow(NO_ROOM)
  parking.keep(parked(), parkedBy('bob'))
  await vi.advanceTimersByTimeAsync(1001)
  expect(parking.size).toBe(0)
  parking.keep(parked(), parkedBy('ann'))
})

test.each([
  ['number', { maxCalls: 4 }],
  ['size', { maxChars: 45 }],
])(
  'where all calls together are too many by their %s, the largest caller loses the one that waits longest',
  async (_, limits) => {
    const parking = new Parking(limits)
    const [bobs, oldest, second, third] = [parked(), parked(), parked(), parked()]
    parking.keep(bobs, parkedBy('bob'))
    for (const call of [oldest, second, third]) parking.keep(call, parkedBy('ann'))
    const carls = parked()
    parking.keep(carls, parkedBy('carl'))
    await vi.advanceTimersByTimeAsync(1)
    expect([bobs, oldest, second, third, carls].map(({ hasEnded }) => hasEnded)).toEqual([
      false,
      true,
      false,
      false,
      false,
    ])
    expect([parking.waiting, parking.hasEvicted(oldest.id), parking.hasEvicted(second.id)]).toEqual([4, true, false])
  },
)

test.each([
  ['number', { maxCalls: 2 }],
  ['size', { maxChars: 25 }],
])('takes nothing from those who have no more than the caller would, by their %s', async (_, limits) => {
  const parking = new Parking(limits)
  const calls = [parked(), parked()]
  for (const [index, call] of calls.entries()) parking.keep(call, parkedBy(`caller ${index}`))
  expect(() => parking.keep(parked(), parkedBy('carl'))).toThrow(NO_ROOM)
  expect(() => parking.keep(parked(), parkedBy('caller 0'))).toThrow(NO_ROOM)
  await vi.advanceTimersByTimeAsync(1)
  expect(calls.map(({ hasEnded }) => hasEnded)).toEqual([false, false])
})

test('takes no call whose client is there', async () => {
  const parking = new Parking({ maxCalls: 3 })
  const calls = [parked(), parked(), parked()]
  for (const call of calls) parking.keep(call, parkedBy('ann'))
  parking.resume(calls[0]?.id ?? '')
  parking.keep(parked(), parkedBy('bob'))
  await vi.advanceTimersByTimeAsync(1)
  expect(calls.map(({ hasEnded }) => hasEnded)).toEqual([false, true, false])
  parking.resume(calls[2]?.id ?? '')
  expect(() => parking.keep(parked(), parkedBy('carl'))).toThrow(NO_ROOM)
})

test('makes room for a call that grows, too', async () => {
  const parking = new Parking({ maxChars: 50 })
  const [small, ...others] = [parked(), parked(), parked(), parked()]
  for (const call of others) parking.keep(call, parkedBy('ann'))
  parking.keep(small, parkedBy('bob'))
  parking.resume(small.id)
  parking.keep(small, { ...parkedBy('bob', 1), chars: 25 })
  await vi.advanceTimersByTimeAsync(1)
  expect([small, ...others].map(({ hasEnded }) => hasEnded)).toEqual([false, true, false, false])
})

test('of results that are kept, the largest caller loses its oldest first', async () => {
  const parking = new Parking({ maxChars: 200 })
  const [bobs, ...anns] = [parked({ text: 'x' }), ...Array.from({ length: 4 }, () => parked({ text: 'x'.repeat(50) }))]
  parking.keep(bobs, parkedBy('bob'))
  await vi.advanceTimersByTimeAsync(1)
  for (const call of anns) parking.keep(call, parkedBy('ann'))
  await vi.advanceTimersByTimeAsync(1)
  const isKept = [bobs, ...anns].map(({ id }) => parking.find(id) !== undefined)
  expect(isKept).toEqual([true, false, false, true, true])
})

test('keeps as many results as calls may wait', async () => {
  const parking = new Parking({ maxCalls: 2 })
  const calls = [parked({}), parked({}), parked({})]
  for (const call of calls) {
    parking.keep(call, parkedBy('ann'))
    await vi.advanceTimersByTimeAsync(1)
  }
  expect(calls.map(({ id }) => parking.find(id) !== undefined)).toEqual([false, true, true])
})

test('lets calls be answered that wait or ask while it drains; then ends the rest, and parks no more', async () => {
  const parking = new Parking()
  const [answered, left, running] = [parked(), parked(), parked()]
  for (const call of [answered, left, running]) parking.keep(call, parkedBy('ann'))
  parking.resume(running.id)
  const drained = parking.drain(500, async () => {})
  parking.keep(parked(), parkedBy('bob'))
  parking.resume(answered.id)
  answered.cancel()
  await vi.advanceTimersByTimeAsync(501)
  await drained
  expect(() => parking.keep(parked(), parkedBy('bob'))).toThrow('is being stopped')
  expect([answered, left, running].map(({ hasEnded }) => hasEnded)).toEqual([true, true, false])
})

test('has drained as soon as nothing waits', async () => {
  const parking = new Parking()
  const call = parked()
  parking.keep(call, parkedBy('ann'))
  const drained = parking.drain(60_000, async () => {})
  call.cancel()
  await drained
  await new Parking().drain(60_000, async () => {})
})

test('has not drained while a call is under way, which may ask', async () => {
  const parking = new Parking()
  const [first, second] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  const underWay = [first.promise, second.promise]
  const isDrained = vi.fn()
  const drained = parking.drain(60_000, () => underWay.shift() ?? Promise.resolve()).then(isDrained)
  const call = parked()
  parking.keep(call, parkedBy('ann'))
  first.resolve()
  await vi.advanceTimersByTimeAsync(1)
  call.cancel() // answered, and its last round is under way
  await vi.advanceTimersByTimeAsync(1)
  expect(isDrained).not.toHaveBeenCalled()
  second.resolve()
  await drained
})

test('has room for so much of one caller', () => {
  const parking = new Parking({ maxCharsOfCaller: 25 })
  for (let time = 0; time < 2; time++) parking.keep(parked(), parkedBy('ann'))
  expect(() => parking.keep(parked(), parkedBy('ann'))).toThrow(NO_ROOM)
})
