import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { BusTable, NumberedEvent } from './busTable.ts'
import { Outbox } from './outbox.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const MIB = 1 << 20

/** An outbox over a table in which the first statements wait or fail, and the numbers of the events in each statement. */
function begin(first: readonly (Promise<void> | Error)[] = [], maxQueue?: { events: number; bytes: number }) {
  const [left, batches, onWritten] = [[...first], [] as number[][], vi.fn<() => void>()]
  const table = {
    isClosed: false,
    insert: async (events: readonly NumberedEvent[]): Promise<void> => {
      batches.push(events.map(({ number }) => number))
      const fate = left.shift()
      if (fate instanceof Error) throw fate
      await fate
    },
  }
  const outbox = new Outbox(table as Partial<BusTable> as BusTable, onWritten, maxQueue)
  return { outbox, table, batches, onWritten }
}

/** An outbox whose first statement, with an event of no bytes, waits for `goOn`. */
function waiting(maxQueue?: { events: number; bytes: number }) {
  const { promise, resolve } = Promise.withResolvers<void>()
  const begun = begin([promise], maxQueue)
  begun.outbox.add('')
  const goOn = async (): Promise<number[][]> => {
    resolve()
    await vi.advanceTimersByTimeAsync(0)
    return begun.batches.slice(1)
  }
  return { ...begun, goOn }
}

const away = new Error('away')

describe('a queue', () => {
  const half = 'ü'.repeat(25) // 50 bytes

  test('of as many bytes as it may hold loses nothing, and of one more the oldest event', async () => {
    const full = waiting({ events: 1000, bytes: 100 })
    full.outbox.add(half)
    full.outbox.add(half)
    expect(await full.goOn()).toEqual([[2, 3]])
    const over = waiting({ events: 1000, bytes: 100 })
    over.outbox.add(half)
    over.outbox.add(half)
    over.outbox.add('x')
    expect(await over.goOn()).toEqual([[3, 4]])
  })

  test('of as many events as it may hold loses nothing, and of more the oldest', async () => {
    const { outbox, goOn } = waiting({ events: 3, bytes: 100 })
    for (let n = 0; n < 4; n++) outbox.add('')
    expect(await goOn()).toEqual([[3, 4, 5]])
  })

  test('that was emptied has room again', async () => {
    const { outbox, batches, goOn } = waiting({ events: 3, bytes: 100 })
    await goOn()
    for (let n = 0; n < 4; n++) {
      outbox.add(half)
      await vi.advanceTimersByTimeAsync(0)
    }
    expect(batches.slice(1)).toEqual([[2], [3], [4], [5]])
  })

  test('holds very much by default', async () => {
    const { outbox, goOn } = waiting()
    for (let n = 0; n < 5000; n++) outbox.add('x'.repeat(100))
    expect((await goOn()).flat()).toHaveLength(5000)
  })
})

describe('a statement', () => {
  test('has at most 500 events', async () => {
    const { outbox, goOn, onWritten } = waiting()
    for (let n = 0; n < 501; n++) outbox.add('')
    expect((await goOn()).map(({ length }) => length)).toEqual([500, 1])
    expect(onWritten).toHaveBeenCalledTimes(3)
  })

  test('has at most a mebibyte, or one event that is larger', async () => {
    const { outbox, goOn } = waiting()
    for (const bytes of [MIB / 2, MIB / 2, MIB / 2, MIB / 2 + 1, 3 * MIB, 1]) outbox.add('x'.repeat(bytes))
    expect(await goOn()).toEqual([[2, 3], [4], [5], [6], [7]])
  })

  test('that fails is tried again after a pause that grows, and nothing overtakes it', async () => {
    const { outbox, batches } = begin([away, away])
    outbox.add('a')
    await vi.advanceTimersByTimeAsync(99)
    outbox.add('b')
    expect(batches).toEqual([[1]])
    await vi.advanceTimersByTimeAsync(1)
    expect(batches).toEqual([[1], [1, 2]])
    await vi.advanceTimersByTimeAsync(199)
    expect(batches).toHaveLength(2)
    await vi.advanceTimersByTimeAsync(1)
    expect(batches).toEqual([[1], [1, 2], [1, 2]])
    outbox.add('c')
    await vi.advanceTimersByTimeAsync(0)
    expect(batches.at(-1)).toEqual([3])
  })

  test('is tried at once when somebody knows better, and the pauses begin anew once one succeeds', async () => {
    const { outbox, batches } = begin([away, away, Promise.resolve(), away])
    outbox.retry()
    expect(batches).toEqual([])
    outbox.add('a')
    await vi.advanceTimersByTimeAsync(0)
    outbox.retry()
    await vi.advanceTimersByTimeAsync(0)
    outbox.retry()
    await vi.advanceTimersByTimeAsync(0)
    expect(batches).toEqual([[1], [1], [1]])
    outbox.add('b')
    await vi.advanceTimersByTimeAsync(100)
    expect(batches.slice(3)).toEqual([[2], [2]])
    expect(vi.getTimerCount()).toBe(0)
  })
})

describe('time', () => {
  test('drops an event that has waited for longer than it lives, and none that has waited exactly so long', async () => {
    const { outbox, batches, goOn } = waiting()
    outbox.add('a')
    await vi.advanceTimersByTimeAsync(1)
    outbox.add('b')
    await vi.advanceTimersByTimeAsync(120_000)
    expect([await goOn(), batches]).toEqual([[[3]], [[1], [3]]])
  })

  test('has recent events from the first write until the table has forgotten it', async () => {
    const { outbox } = begin([away])
    expect(outbox.hasRecent).toBe(false)
    outbox.add('a')
    await vi.advanceTimersByTimeAsync(0)
    expect(outbox.hasRecent).toBe(false)
    await vi.advanceTimersByTimeAsync(100)
    expect(outbox.hasRecent).toBe(true)
    await vi.advanceTimersByTimeAsync(119_999)
    expect(outbox.hasRecent).toBe(true)
    await vi.advanceTimersByTimeAsync(1)
    expect(outbox.hasRecent).toBe(false)
  })
})

describe('the end', () => {
  test('waits for what is being written, and tries once more what is not', async () => {
    const { outbox, batches } = begin([away])
    outbox.add('a')
    await vi.advanceTimersByTimeAsync(0)
    await outbox.close()
    expect(batches).toEqual([[1], [1]])
    const { promise, resolve } = Promise.withResolvers<void>()
    const slow = begin([promise])
    slow.outbox.add('a')
    const closed = vi.fn<() => void>()
    const closing = slow.outbox.close().then(closed)
    await vi.advanceTimersByTimeAsync(0)
    expect(closed).not.toHaveBeenCalled()
    resolve()
    await closing
    expect(slow.batches).toEqual([[1]])
  })

  test.each(['the outbox', 'the connection'])('of %s ends the tries', async (what) => {
    const { outbox, table, batches } = begin([away, away])
    table.isClosed = what === 'the connection'
    outbox.add('a')
    if (what === 'the outbox') await outbox.close()
    await vi.advanceTimersByTimeAsync(60_000)
    expect([batches.length, vi.getTimerCount()]).toEqual([1, 0])
  })
})
