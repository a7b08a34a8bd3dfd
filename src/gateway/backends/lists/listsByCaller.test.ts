import { expect, test, vi } from 'vitest'
import { NO_CACHING, NO_LISTS, type ServerLists, type ReadLists } from './serverLists.ts'
import { ListsByCaller } from './listsByCaller.ts'

const of = (name: string): ServerLists => ({ ...NO_LISTS, tools: [{ name }] })
const read = (name: string, bytes = 10, ttlMs?: number): ReadLists => ({
  lists: of(name),
  caching: NO_CACHING,
  unmatched: { allow: [], deny: [] },
  bytes,
  ttlMs,
  isCut: false,
  tooLong: 0,
  digest: name,
})
const by = (caller: string, quotaCaller = caller) => ({ caller, quotaCaller })
const HOUR_MS = 3_600_000

test('lists are read once for requests that come together, and again when their time is over', async () => {
  const lists = new ListsByCaller(HOUR_MS)
  const reading = vi.fn(async () => read('first'))
  const both = [1, 2].map(() => lists.latest(by('ann'), reading, 1000))
  expect(await Promise.all(both)).toEqual([of('first'), of('first')])
  await lists.latest(by('ann'), reading, 1000)
  expect(reading).toHaveBeenCalledTimes(1)
  lists.expire()
  expect(await lists.latest(by('ann'), async () => read('second'), 1000)).toEqual(of('second'))
})

test('a server says how long its lists stay, but at least a second', async () => {
  const lists = new ListsByCaller(0)
  const reading = vi.fn(async () => read('first', 10, 1))
  for (let time = 0; time < 3; time++) await lists.latest(by('ann'), reading, 1000)
  expect(reading).toHaveBeenCalledTimes(1)
})

test('where reading is late or fails a caller has what was read last, and nothing of another caller', async () => {
  const lists = new ListsByCaller(HOUR_MS)
  await lists.latest(by('ann'), async () => read('anns'), 1000)
  lists.expire()
  const late = Promise.withResolvers<ReadLists>()
  expect(await lists.latest(by('ann'), () => late.promise, 1)).toEqual(of('anns'))
  expect(await lists.latest(by('bob'), () => new Promise(() => {}), 1)).toBeUndefined()
  late.reject(new Error('refused'))
  await expect.poll(() => lists.latest(by('ann'), async () => read('next'), 1000)).toEqual(of('anns'))
  expect(lists.known(by('bob'))).toBeUndefined()
})

test('a reading that was late is there for the next request', async () => {
  const lists = new ListsByCaller(HOUR_MS)
  const late = Promise.withResolvers<ReadLists>()
  expect(await lists.latest(by('ann'), () => late.promise, 1)).toBeUndefined()
  late.resolve(read('anns'))
  await expect.poll(() => lists.known(by('ann'))).toEqual(of('anns'))
})

test('callers with equal lists share one copy, which is counted once', async () => {
  const lists = new ListsByCaller(HOUR_MS, { bytes: 100 })
  const listed = (caller: string, name: string) => lists.latest(by(caller, 'mallory'), async () => read(name, 40), 1000)
  const first = await listed('first', 'same')
  for (const caller of ['second', 'third', 'fourth']) expect(await listed(caller, 'same')).toBe(first)
  await listed('fifth', 'other')
  expect(lists.known(by('first'))).toBe(first)
})

test.each([
  ['bytes', { bytes: 100 }, 40],
  ['callers', { callers: 3 }, 1],
])('of too many %s the caller with the most loses their oldest', async (_, limits, bytes) => {
  const lists = new ListsByCaller(HOUR_MS, limits)
  const add = (caller: string, quotaCaller: string, size: number) =>
    lists.latest(by(caller, quotaCaller), async () => read(caller, size), 1000)
  await add('bob', 'bob', 10)
  for (const session of ['one', 'two', 'three']) await add(session, 'mallory', bytes)
  expect(['bob', 'one', 'two', 'three'].filter((caller) => lists.known(by(caller)) !== undefined)).toEqual([
    'bob',
    'two',
    'three',
  ])
})
