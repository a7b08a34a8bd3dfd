import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { drainAll } from './shutdown.ts'
import { Load } from './load.ts'

const gone = { drain: () => Promise.resolve() }
const stuck = { drain: () => new Promise<void>(() => {}) }

describe('draining', () => {
  beforeEach(() => vi.useFakeTimers())
  afterEach(() => vi.useRealTimers())

  /** Whether it is over, asked at any time. */
  function watch(drained: Promise<void>): () => boolean {
    let over = false
    void drained.then(() => (over = true))
    return () => over
  }

  test('is over at once when nothing is under way and everybody is gone', async () => {
    const over = watch(drainAll([gone, gone], new Load(), 25_000))
    await vi.advanceTimersByTimeAsync(0)
    expect(over()).toBe(true)
  })

  test('waits for the calls under way', async () => {
    const load = new Load()
    load.enter()
    const over = watch(drainAll([gone], load, 25_000))
    await vi.advanceTimersByTimeAsync(20_000)
    expect(over()).toBe(false)
    load.leave()
    await vi.advanceTimersByTimeAsync(0)
    expect(over()).toBe(true)
  })

  test('gives a connection that stays five seconds after the last call, and no more', async () => {
    const over = watch(drainAll([gone, stuck], new Load(), 25_000))
    await vi.advanceTimersByTimeAsync(4999)
    expect(over()).toBe(false)
    await vi.advanceTimersByTimeAsync(1)
    expect(over()).toBe(true)
  })

  test('gives connections that time only when no client may come back any more, at most at the deadline', async () => {
    const answered = Promise.withResolvers<void>()
    const over = watch(drainAll([stuck], new Load(), 25_000, answered.promise))
    const late = watch(drainAll([stuck], new Load(), 25_000, new Promise(() => {})))
    await vi.advanceTimersByTimeAsync(12_000)
    expect(over()).toBe(false)
    answered.resolve()
    await vi.advanceTimersByTimeAsync(5000)
    expect([over(), late()]).toEqual([true, false])
    await vi.advanceTimersByTimeAsync(9000)
    expect(late()).toBe(true)
  })

  test('waits for a call that came on an open connection meanwhile', async () => {
    const load = new Load()
    const over = watch(drainAll([stuck], load, 25_000))
    await vi.advanceTimersByTimeAsync(500)
    load.enter()
    await vi.advanceTimersByTimeAsync(10_000)
    expect(over()).toBe(false)
    load.leave()
    await vi.advanceTimersByTimeAsync(5000)
    expect(over()).toBe(true)
  })

  test('gives up a second after the deadline', async () => {
    const load = new Load()
    load.enter()
    const over = watch(drainAll([stuck], load, 25_000))
    await vi.advanceTimersByTimeAsync(24_999)
    expect(over()).toBe(false)
    await vi.advanceTimersByTimeAsync(1001)
    expect(over()).toBe(true)
  })

  test('makes every checkpoint hand over from the first moment', () => {
    const load = new Load()
    void drainAll([gone], load, 25_000)
    expect(load.shedding()).toBe('draining')
  })
})
