import { expect, test } from 'vitest'
import { legacyPeer } from '../legacy/session.ts'
import { Allowance, holderOf, Holdings } from './holders.ts'

const peer = legacyPeer({ version: '2025-11-25', client: undefined, capabilities: {} })
const inSession = { ...peer, session: 's' }

test.each([
  ['a principal, wherever it is', { peer: inSession, principal: { id: 'ann' }, address: '192.0.2.1' }, 'principal ann'],
  ['a session', { peer: inSession, principal: undefined }, 'session s'],
  [
    'a session of an address',
    { peer: inSession, principal: undefined, address: '192.0.2.1' },
    'network 192.0.2.1\nsession s',
  ],
  ['an address', { peer, principal: undefined, address: '2001:db8::1' }, 'network 2001:db8:0:0::/64\n'],
  ['a principal that is written in lines', { peer, principal: { id: 'a\nb' } }, 'principal a b'],
])('what is held is held by %s', (_, caller, holder) => {
  expect(holderOf(caller)).toBe(holder)
})

test('a group may do ten times as much within a second as one holder', () => {
  let now = 0
  const allowance = new Allowance(2, () => now)
  expect(['net\na', 'net\na', 'net\na', 'other'].map((holder) => allowance.take(holder))).toEqual([
    true,
    true,
    false,
    true,
  ])
  const many = Array.from({ length: 30 }, (_, index) => allowance.take(`net\n${index}`))
  expect(many.filter(Boolean).length).toBe(17)
  now = 1000
  expect(allowance.take('net\na')).toBe(true)
})

test('the largest holder of the largest group comes first', () => {
  const holdings = new Holdings<number>()
  for (let item = 0; item < 4; item++) holdings.add('alone', item)
  for (const [index, holder] of ['net\na', 'net\nb', 'net\nb', 'net\nc', 'net\nc', 'net\nc'].entries())
    holdings.add(holder, 10 + index)
  const order = () =>
    Array.from(
      holdings.largestFirst(({ size }) => size),
      ({ items, isLargest }) => [[...items], isLargest],
    )
  expect(order()).toEqual([
    [[13, 14, 15], true],
    [[11, 12], false],
    [[10], false],
    [[0, 1, 2, 3], false],
  ])
  for (const item of [13, 14, 15]) holdings.delete('net\nc', item)
  expect(order()).toEqual([
    [[0, 1, 2, 3], true],
    [[11, 12], false],
    [[10], false],
  ])
})
