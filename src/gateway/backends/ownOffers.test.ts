import { expect, test, vi } from 'vitest'
import { NOTHING, type Offer, type ReadOffer } from './offer.ts'
import { OwnOffers } from './ownOffers.ts'

const of = (name: string): Offer => ({ ...NOTHING, tools: [{ name }] })
const read = (name: string, bytes = 10, ttlMs?: number): ReadOffer => ({ offer: of(name), bytes, ttlMs, isCut: false })
const by = (caller: string, holder = caller) => ({ caller, holder })
const HOUR_MS = 3_600_000

test('lists are read once for requests that come together, and again when their time is over', async () => {
  const offers = new OwnOffers(HOUR_MS)
  const reading = vi.fn(async () => read('first'))
  const both = [1, 2].map(() => offers.latest(by('ann'), reading, 1000))
  expect(await Promise.all(both)).toEqual([of('first'), of('first')])
  await offers.latest(by('ann'), reading, 1000)
  expect(reading).toHaveBeenCalledTimes(1)
  offers.expire()
  expect(await offers.latest(by('ann'), async () => read('second'), 1000)).toEqual(of('second'))
})

test('a server says how long its lists stay, but at least a second', async () => {
  const offers = new OwnOffers(0)
  const reading = vi.fn(async () => read('first', 10, 1))
  for (let time = 0; time < 3; time++) await offers.latest(by('ann'), reading, 1000)
  expect(reading).toHaveBeenCalledTimes(1)
})

test('where reading is late or fails a caller has what was read last, and nothing of another caller', async () => {
  const offers = new OwnOffers(HOUR_MS)
  await offers.latest(by('ann'), async () => read('anns'), 1000)
  offers.expire()
  const late = Promise.withResolvers<ReadOffer>()
  expect(await offers.latest(by('ann'), () => late.promise, 1)).toEqual(of('anns'))
  expect(await offers.latest(by('bob'), () => new Promise(() => {}), 1)).toBeUndefined()
  late.reject(new Error('refused'))
  await expect.poll(() => offers.latest(by('ann'), async () => read('next'), 1000)).toEqual(of('anns'))
  expect(offers.known(by('bob'))).toBeUndefined()
})

test('a reading that was late is there for the next request', async () => {
  const offers = new OwnOffers(HOUR_MS)
  const late = Promise.withResolvers<ReadOffer>()
  expect(await offers.latest(by('ann'), () => late.promise, 1)).toBeUndefined()
  late.resolve(read('anns'))
  await expect.poll(() => offers.known(by('ann'))).toEqual(of('anns'))
})

test.each([
  ['bytes', { bytes: 100 }, 40],
  ['callers', { callers: 3 }, 1],
])('of too many %s whoever holds the most loses their oldest', async (_, limits, bytes) => {
  const offers = new OwnOffers(HOUR_MS, limits)
  const add = (caller: string, holder: string, size: number) =>
    offers.latest(by(caller, holder), async () => read(caller, size), 1000)
  await add('bob', 'bob', 10)
  for (const session of ['one', 'two', 'three']) await add(session, 'mallory', bytes)
  expect(['bob', 'one', 'two', 'three'].filter((caller) => offers.known(by(caller)) !== undefined)).toEqual([
    'bob',
    'two',
    'three',
  ])
})
