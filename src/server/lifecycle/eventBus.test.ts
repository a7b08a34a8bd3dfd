import { expect, test } from 'vitest'
import { type BusTimers, debouncedChanges, localBus, type ServerEvent } from './eventBus.ts'

/** Timers that fire when the test moves the clock. */
class TestTimers implements BusTimers {
  #now = 0
  readonly #waiting = new Set<{ at: number; run: () => void }>()
  readonly now = (): number => this.#now

  readonly later = (run: () => void, ms: number): (() => void) => {
    const timer = { at: this.#now + ms, run }
    this.#waiting.add(timer)
    return () => this.#waiting.delete(timer)
  }

  moveTo(at: number): void {
    this.#now = at
    for (const timer of this.#waiting) {
      if (timer.at > at) continue
      this.#waiting.delete(timer)
      timer.run()
    }
  }
}

const tools: ServerEvent = { kind: 'changed', list: 'tools' }

function start() {
  const timers = new TestTimers()
  const bus = localBus()
  const debounced = debouncedChanges(bus, { quietMs: 10, maxMs: 25 }, timers)
  const heard: ServerEvent[] = []
  debounced.subscribe((event) => heard.push(event))
  return { timers, bus, debounced, heard }
}

test('changes of one list within the quiet time are one event, at its end', () => {
  const { timers, bus, heard } = start()
  for (const at of [0, 4, 8]) {
    timers.moveTo(at)
    bus.publish(tools)
  }
  timers.moveTo(17)
  expect(heard).toEqual([])
  timers.moveTo(18)
  expect(heard).toEqual([tools])
  timers.moveTo(100)
  expect(heard).toHaveLength(1)
})

test('a list that changes all the time is an event after the longest delay', () => {
  const { timers, bus, heard } = start()
  for (let at = 0; at <= 24; at += 4) {
    timers.moveTo(at)
    bus.publish(tools)
  }
  expect(heard).toEqual([])
  timers.moveTo(25)
  expect(heard).toEqual([tools])
})

test('changes of other lists, and of entries that not everyone sees, are events of their own', () => {
  const { timers, bus, heard } = start()
  const others: ServerEvent[] = [
    { kind: 'changed', list: 'prompts' },
    { kind: 'changed', list: 'tools', entry: 'secret' },
  ]
  for (const event of [tools, ...others]) bus.publish(event)
  timers.moveTo(10)
  expect(heard).toEqual([tools, ...others])
})

test('other events are not delayed, and events go to the bus behind it', () => {
  const { bus, debounced, heard } = start()
  const behind: ServerEvent[] = []
  bus.subscribe((event) => behind.push(event))
  const updated: ServerEvent = { kind: 'updated', uri: 'item://one' }
  debounced.publish(updated)
  expect(heard).toEqual([updated])
  expect(behind).toEqual([updated])
})
