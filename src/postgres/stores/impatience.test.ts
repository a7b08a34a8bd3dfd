import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { StateError } from '../../state/internal.ts'
import { Impatience } from './impatience.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const never = (): Promise<never> => new Promise(() => {})
const away = { code: 'STORE_UNAVAILABLE' }

test('gives up a database that does not answer, and asks it nothing for a while', async () => {
  const impatience = new Impatience(1000)
  const given = impatience.run(never).catch((error: unknown) => error)
  await vi.advanceTimersByTimeAsync(1000)
  expect(await given).toMatchObject(away)
  const work = vi.fn(async () => 'answer')
  await expect(impatience.run(work)).rejects.toMatchObject(away)
  expect(work).not.toHaveBeenCalled()
  await vi.advanceTimersByTimeAsync(5000)
  expect(await impatience.run(work)).toBe('answer')
  expect(vi.getTimerCount()).toBe(0)
})

test.each([
  ['a connection that breaks', new Error('ECONNRESET'), 'STORE_UNAVAILABLE'],
  ['what the database has', new StateError('STORE_CORRUPT', 'It is damaged.'), undefined],
])('asks on or not after trouble with %s', async (_, trouble, code) => {
  const impatience = new Impatience(1000)
  await expect(impatience.run(() => Promise.reject(trouble))).rejects.toBe(trouble)
  const next = await impatience.run(async () => undefined).catch((error: unknown) => (error as StateError).code)
  expect(next).toBe(code)
})

test('asks nothing while others know that the database is away', async () => {
  let isAway = true
  const impatience = new Impatience(1000, () => isAway)
  await expect(impatience.run(async () => 'answer')).rejects.toMatchObject(away)
  isAway = false
  expect(await impatience.run(async () => 'answer')).toBe('answer')
})
