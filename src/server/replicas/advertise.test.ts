import type { networkInterfaces } from 'node:os'
import { afterEach, expect, test } from 'vitest'
import { newKey } from '../../state/index.ts'
import { createServer, type Server } from '../index.ts'
import { reachableHost } from './advertise.ts'

const servers: Server[] = []
afterEach(() => Promise.all(servers.splice(0).map((server) => server.drain({ deadlineMs: 0 }))))

async function start(advertise?: string) {
  const warned: object[] = []
  const logger = { debug() {}, info() {}, warn: (details: object) => void warned.push(details), error() {} }
  const server = createServer({ name: 'test', version: '1', keys: KEYS, logger, ...(advertise && { advertise }) })
  servers.push(server)
  const { url } = await server.listen()
  return { url, warned }
}

const KEYS = newKey()

test('an instance that advertises the address of another, or one where nobody is, says so in its log', async () => {
  const one = await start()
  const two = await start(one.url)
  await expect.poll(() => two.warned).toEqual([{ advertise: one.url, why: expect.stringContaining('409') }])
  const nobody = await start('http://127.0.0.1:1/mcp')
  await expect.poll(() => nobody.warned).toEqual([{ advertise: 'http://127.0.0.1:1/mcp', why: 'bad port' }])
  expect(one.warned).toEqual([])
})

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
