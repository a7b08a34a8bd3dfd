import { expect, test } from 'vitest'
import { legacyPeer } from '../legacy/session.ts'
import { quotaCaller } from './quotaCaller.ts'

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
])('quotas count for %s', (_, caller, name) => {
  expect(quotaCaller(caller)).toBe(name)
})
