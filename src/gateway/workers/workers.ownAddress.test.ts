import { expect, test } from 'vitest'
import { ownAddress } from './workers.ts'

test.each([
  [1, undefined, { host: '127.0.0.1', port: 0, advertise: undefined }],
  [2, '', { host: '127.0.0.1', port: 0, advertise: undefined }],
  [1, 'http://10.0.0.7:9000', { host: '0.0.0.0', port: 9000, advertise: '10.0.0.7' }],
  [3, 'http://10.0.0.7:9000/mcp', { host: '0.0.0.0', port: 9002, advertise: '10.0.0.7' }],
  [2, 'http://10.0.0.7:8931', { host: '0.0.0.0', port: 0, advertise: '10.0.0.7' }],
  [2, 'http://gateway.internal', { host: '0.0.0.0', port: 0, advertise: 'gateway.internal' }],
  [2, 'http://[fd00::7]:9000', { host: '::', port: 9001, advertise: '[fd00::7]' }],
] as const)('worker %i of a gateway that advertises %s', (worker, advertise, own) => {
  expect(ownAddress(worker, 8931, advertise)).toEqual(own)
})

test.each(['10.0.0.7', 'ftp://10.0.0.7'])(
  'what is no address, as in %s, is told by the name of the variable',
  (advertise) => {
    expect(() => ownAddress(1, 8931, advertise)).toThrow(/^PANNIER_ADVERTISE must be .* such as "http:/)
  },
)

test('an address with TLS is refused, since workers would be reached without', () => {
  expect(() => ownAddress(1, 8931, 'https://10.0.0.7:9000')).toThrow(/^PANNIER_ADVERTISE is an https: address/)
})
