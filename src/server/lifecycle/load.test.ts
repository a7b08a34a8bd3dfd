import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { Load } from './load.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('calls are handed over from one more than the limit, and all of them in a drain', () => {
  const load = new Load(1)
  load.enter()
  expect([load.shedding(), load.inFlight]).toEqual(['no', 1])
  load.enter()
  expect([load.shedding(), load.inFlight]).toEqual(['busy', 2])
  load.leave()
  expect(load.shedding()).toBe('no')
  void load.drain(1000)
  expect(load.shedding()).toBe('draining')
  load.leave()
})

test('of calls that reach a checkpoint together only those are handed over that are too many', () => {
  const load = new Load(2)
  const calls = [{}, {}, {}, {}]
  for (const _ of calls) load.enter()
  const handedOff = calls.filter((call) => {
    const isBusy = load.shedding() === 'busy'
    if (isBusy) load.handOff(call)
    return isBusy
  })
  expect(handedOff).toEqual(calls.slice(0, 2))
  expect(load.inFlight).toBe(4) // until they are answered
  load.enter()
  expect(load.shedding()).toBe('busy')
  for (const call of calls) load.leave(call)
  expect([load.shedding(), load.inFlight]).toEqual(['no', 1])
  load.enter()
  load.enter()
  expect(load.shedding()).toBe('busy')
})

test('without a limit no number of calls is too many', () => {
  const load = new Load()
  for (let n = 0; n < 1000; n++) load.enter()
  expect(load.shedding()).toBe('no')
})

test('a drain is over when the last call has left', async () => {
  const load = new Load()
  await load.drain(1000)
  load.enter()
  load.enter()
  let isOver = false
  const drained = load.drain(1000).then(() => (isOver = true))
  load.leave()
  await vi.advanceTimersByTimeAsync(999)
  expect(isOver).toBe(false)
  load.leave()
  await drained
  expect(isOver).toBe(true)
})

test('a drain is over at its deadline, whatever is in flight', async () => {
  const load = new Load()
  load.enter()
  let isOver = false
  void load.drain(1000).then(() => (isOver = true))
  await vi.advanceTimersByTimeAsync(1000)
  expect([isOver, load.inFlight]).toEqual([true, 1])
})
