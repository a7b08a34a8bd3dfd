import { expect, test } from 'vitest'
import { localBus } from '../lifecycle/eventBus.ts'
import { SessionFacts } from './sessionFacts.ts'

const facts = () => new SessionFacts(localBus(), Date.now)
const address = (number: number) => `x://${number}/`.padEnd(2048, '.')

test('a session watches only so many characters, and may go on when it gave some back', () => {
  const noted = facts()
  const watched = Array.from({ length: 40 }, (_, number) => noted.watch('s', address(number)))
  expect(watched.filter(Boolean)).toHaveLength(32)
  expect(noted.watch('s', address(3))).toBe(true) // it does already
  expect(noted.watch('s', 'x://short')).toBe(false)
  noted.unwatch('s', address(3))
  expect(noted.watch('s', 'x://short')).toBe(true)
})

test('all sessions together watch only so many characters, and the oldest are forgotten first', () => {
  const noted = facts()
  for (let session = 0; session < 1030; session++) {
    for (let number = 0; number < 32; number++) noted.watch(`s${session}`, address(number))
  }
  const sizes = [0, 5, 6, 1029].map((session) => noted.watchedBy(`s${session}`).size)
  expect(sizes).toEqual([0, 0, 32, 32])
  noted.end('s6', Date.now())
  expect(noted.watchedBy('s6').size).toBe(0)
})
