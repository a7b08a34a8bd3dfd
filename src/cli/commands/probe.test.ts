import { expect, test } from 'vitest'
import { mapConcurrently } from './probe.ts'

const pause = () => new Promise<void>((resolve) => setImmediate(resolve))

test('all items are worked on, in their order, so many at a time', async () => {
  let [now, most] = [0, 0]
  const work = async (item: number): Promise<number> => {
    most = Math.max(most, ++now)
    await pause()
    now--
    return item * 2
  }
  expect(await mapConcurrently(3, [1, 2, 3, 4, 5, 6, 7], work)).toEqual([2, 4, 6, 8, 10, 12, 14])
  expect(most).toBe(3)
  expect(await mapConcurrently(3, [], work)).toEqual([])
})

test('a fault is thrown when nothing is at work any more', async () => {
  const ended: number[] = []
  const work = async (item: number): Promise<void> => {
    if (item === 1) throw new Error('first')
    await pause()
    ended.push(item)
  }
  await expect(mapConcurrently(2, [1, 2, 3], work)).rejects.toThrow('first')
  expect(ended).toEqual([2, 3])
})
