import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { StatusThrottle } from './runner.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

test('the first message is written at once, and of those in the next interval the latest', async () => {
  const written: string[] = []
  const notes = new StatusThrottle(async ({ message: note }) => void written.push(note), 100)
  for (let step = 1; step <= 5; step++) notes.progress(step, 10, undefined)
  expect(written).toEqual(['1 of 10'])
  await vi.advanceTimersByTimeAsync(100)
  expect(written).toEqual(['1 of 10', '5 of 10'])
  notes.progress(6, undefined, 'almost there')
  await vi.advanceTimersByTimeAsync(100)
  notes.progress(7, undefined, undefined)
  await vi.advanceTimersByTimeAsync(100)
  expect(written).toEqual(['1 of 10', '5 of 10', 'almost there', '7'])
})

test('nothing is written after the end, which waits for the write under way', async () => {
  const written: string[] = []
  let finish: () => void = () => {}
  const notes = new StatusThrottle(async ({ message: note }) => {
    await new Promise<void>((resolve) => (finish = resolve))
    written.push(note)
  }, 100)
  notes.progress(1, undefined, 'first')
  notes.progress(2, undefined, 'second')
  const ended = notes.end()
  finish()
  await ended
  await vi.advanceTimersByTimeAsync(1000)
  expect(written).toEqual(['first'])
})

test('the latest message before a question is written, and no other after it', async () => {
  const written: string[] = []
  const notes = new StatusThrottle(async ({ message: note }) => void written.push(note), 100)
  for (let step = 1; step <= 3; step++) notes.progress(step, 3, undefined)
  await notes.end('written')
  notes.progress(4, undefined, 'too late')
  await vi.advanceTimersByTimeAsync(1000)
  expect(written).toEqual(['1 of 3', '3 of 3'])
})

test('while a write takes long, the next one waits for it', async () => {
  const begun: string[] = []
  const ends: (() => void)[] = []
  const notes = new StatusThrottle(({ message: note }) => {
    begun.push(note)
    return new Promise<void>((resolve) => ends.push(resolve))
  }, 100)
  for (let step = 1; step <= 3; step++) {
    notes.progress(step, undefined, undefined)
    await vi.advanceTimersByTimeAsync(1000)
  }
  expect(begun).toEqual(['1'])
  ends[0]?.()
  await vi.advanceTimersByTimeAsync(100)
  expect(begun).toEqual(['1', '3'])
})

test('a message after the end is not written', async () => {
  const written: string[] = []
  const notes = new StatusThrottle(async ({ message: note }) => void written.push(note), 100)
  await notes.end()
  notes.progress(1, undefined, 'too late')
  await vi.advanceTimersByTimeAsync(1000)
  expect(written).toEqual([])
})

test('a message that cannot be written stops nothing', async () => {
  const notes = new StatusThrottle(() => Promise.reject(new Error('away')), 100)
  notes.progress(1, undefined, undefined)
  await vi.advanceTimersByTimeAsync(100)
  await expect(notes.end()).resolves.toBeUndefined()
})
