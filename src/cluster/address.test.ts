import type { networkInterfaces } from 'node:os'
import { expect, test } from 'vitest'
import { reachableHost } from './address.ts'

test.each<[string, string, [family: string, address: string, internal?: boolean][], string]>([
  ['one address', '10.0.0.7', [['IPv4', '10.0.0.8']], '10.0.0.7'],
  ['one IPv6 address', '::1', [], '[::1]'],
  [
    'all addresses',
    '0.0.0.0',
    [
      ['IPv6', 'fd00::1'],
      ['IPv4', '10.0.0.8'],
    ],
    '10.0.0.8',
  ],
  ['all IPv6 addresses', '::', [['IPv4', '10.0.0.8']], '10.0.0.8'],
  ['all addresses of a machine with IPv6 only', '::', [['IPv6', 'fd00::1']], '[fd00::1]'],
  ['all addresses of a machine alone', '0.0.0.0', [['IPv4', '127.0.0.1', true]], '127.0.0.1'],
  [
    'all addresses, of which some are of one link',
    '::',
    [
      ['IPv4', '169.254.0.1'],
      ['IPv6', 'FE80::1'],
    ],
    '127.0.0.1',
  ],
])('a server at %s is reached by others at an address of its machine', (_, address, own, host) => {
  const list = own.map(([family, each, internal = false]) => ({ family, address: each, internal }))
  expect(reachableHost(address, () => ({ eth0: list }) as unknown as ReturnType<typeof networkInterfaces>)).toBe(host)
})
