import { expect, test } from 'vitest'
import { localBus, type ServerEvent } from '../lifecycle/eventBus.ts'
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

test('a caller with very many sessions makes this forget what it noted of its own, and of no other', () => {
  const noted = facts()
  noted.watch('hers', 'x://a', 'ann')
  noted.setLevel('hers', 'error', 'ann')
  for (let session = 0; session < 10_500; session++) noted.setLevel(`s${session}`, 'debug', 'bob')
  expect([noted.levelOf('hers'), noted.watchedBy('hers').size]).toEqual(['error', 1])
  expect([noted.levelOf('s0'), noted.levelOf('s10499')]).toEqual(['info', 'debug'])
})

test('the same for what all sessions of a caller watch together', () => {
  const noted = facts()
  noted.watch('hers', 'x://a', 'ann')
  for (let session = 0; session < 1030; session++) {
    for (let number = 0; number < 32; number++) noted.watch(`s${session}`, address(number), 'bob')
  }
  expect(['hers', 's0', 's1029'].map((session) => noted.watchedBy(session).size)).toEqual([1, 0, 32])
})

test('another instance that is told all of it knows whose sessions they are', () => {
  let listen: (event: ServerEvent) => void = () => {}
  const bus = { publish() {}, subscribe: (listener: typeof listen) => ((listen = listener), () => {}) }
  const [first, second] = [facts(), new SessionFacts(bus, Date.now)]
  first.setLevel('hers', 'error', 'ann')
  for (const event of first.events()) listen(event)
  for (let session = 0; session < 10_500; session++) second.setLevel(`s${session}`, 'debug', 'bob')
  expect(second.levelOf('hers')).toBe('error')
})
