import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { IdleTimers, type Idling } from './idleTimers.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

interface Named extends Idling {
  name: string
}

const active = (name: string): Named => ({ name, activeAt: performance.now() })

function watched() {
  const idle: unknown[] = []
  const began = performance.now()
  const timers: IdleTimers<Named> = new IdleTimers(1_000, ({ name }) => {
    idle.push([name, performance.now() - began])
    timers.end(name)
  })
  return { idle, timers }
}

test('each item is given to onIdle when nothing happened to it for the timeout, and once', async () => {
  const { idle, timers } = watched()
  const first = active('a')
  timers.begin('a', first)
  await vi.advanceTimersByTimeAsync(400)
  timers.begin('b', active('b'))
  await vi.advanceTimersByTimeAsync(300)
  first.activeAt = performance.now()
  timers.begin('c', active('c'))
  expect([timers.end('c'), timers.end('c')]).toEqual([true, false])
  await vi.advanceTimersByTimeAsync(10_000)
  expect(idle).toEqual([
    ['b', 1_400],
    ['a', 1_700],
  ])
})

test('one timer is enough for many items, and for those that are added after they ended', () => {
  const { timers } = watched()
  for (let key = 0; key < 1_000; key++) timers.begin(key, active(`${key}`))
  for (let key = 0; key < 1_000; key++) timers.end(key)
  timers.begin('later', active('later'))
  expect(vi.getTimerCount()).toBe(1)
})

test('a timer without items ends after its time', async () => {
  const { timers } = watched()
  timers.begin('a', active('a'))
  timers.endAll()
  await vi.advanceTimersByTimeAsync(1_000)
  expect(vi.getTimerCount()).toBe(0)
})

test('onIdle may restart all items, and end others', async () => {
  const idle: unknown[] = []
  const timers: IdleTimers<Named> = new IdleTimers(1_000, ({ name }) => {
    idle.push(name)
    if (idle.length < 4) for (const one of timers.all) one.activeAt = performance.now()
    else for (const other of ['a', 'b']) timers.end(other)
  })
  for (const key of ['a', 'b']) timers.begin(key, active(`${key}`))
  await vi.advanceTimersByTimeAsync(10_000)
  expect(idle).toEqual(['a', 'a', 'a', 'a'])
})

test('the other items are given to onIdle although it throws for one', async () => {
  const idle: unknown[] = []
  const faults: unknown[] = []
  const hear = (fault: unknown): void => void faults.push(fault)
  process.once('uncaughtException', hear)
  const timers: IdleTimers<Named> = new IdleTimers(1_000, ({ name }) => {
    idle.push(name)
    timers.end(name)
    if (name === 'a') throw new Error('of the host')
  })
  for (const name of ['a', 'b']) timers.begin(name, active(name))
  await vi.advanceTimersByTimeAsync(1_000).catch(hear)
  await vi.advanceTimersByTimeAsync(10)
  process.removeListener('uncaughtException', hear)
  expect([idle, faults.length]).toEqual([['a', 'b'], 1])
})
