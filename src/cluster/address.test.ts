import type { networkInterfaces } from 'node:os'
import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import { AddressCheck, reachableHost } from './address.ts'
import { Self } from './instance.ts'
import type { Delivery } from './messenger.ts'

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

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

/** A check whose messages arrive, or not, as the list says; after it, as its last entry. */
function begin(arrives: readonly boolean[], letGo = async () => {}) {
  const self = new Self('http://10.0.0.7:3000/mcp')
  const log: string[] = []
  let sent = 0
  const send = async (to: { id: string; url: string | undefined }): Promise<Delivery> => {
    expect(to).toEqual({ id: self.id, url: 'http://10.0.0.7:3000/mcp' })
    if (!(arrives[sent++] ?? arrives.at(-1))) return { kind: 'gone', why: 'refused' }
    const cancel = async (): Promise<void> => {
      await letGo()
      log.push('let go')
    }
    return { kind: 'delivered', response: new Response(new ReadableStream({ cancel })) }
  }
  const tell = (level: string) => (fields: object) => void log.push(`${level} ${JSON.stringify(fields)}`)
  const logger = { debug: tell('debug'), info: tell('info'), warn: tell('warn'), error: tell('error') }
  const check = new AddressCheck({ self, messenger: { send }, logger: () => logger })
  return { self, check, log, sent: () => sent }
}

const advertise = 'http://10.0.0.7:3000/mcp'

test('an instance that reaches itself three times keeps its address, and lets go of each reply', async () => {
  const slowly = () => new Promise<void>((resolve) => void setImmediate(resolve))
  const { self, check, log, sent } = begin([true], slowly)
  await check.check()
  log.push('checked')
  expect([self.url, sent(), log]).toEqual([advertise, 3, ['let go', 'let go', 'let go', 'checked']])
  expect(vi.getTimerCount()).toBe(0)
})

test('one that does not has none, says so once, and has it again when it reaches itself', async () => {
  const { self, check, log, sent } = begin([true, true, false, false, true, false, true])
  await check.check()
  expect([self.url, sent()]).toEqual([undefined, 3])
  expect(log.splice(0)).toEqual(['let go', 'let go', `warn ${JSON.stringify({ advertise, why: 'refused' })}`])
  await vi.advanceTimersByTimeAsync(999)
  expect(sent()).toBe(3)
  await vi.advanceTimersByTimeAsync(1)
  expect([sent(), self.url]).toEqual([4, undefined])
  await vi.advanceTimersByTimeAsync(1000)
  expect([sent(), self.url]).toEqual([6, undefined])
  await vi.advanceTimersByTimeAsync(1000)
  expect([sent(), self.url]).toEqual([9, advertise])
  expect(log.at(-1)).toBe(`info ${JSON.stringify({ advertise })}`)
  expect(vi.getTimerCount()).toBe(0)
})

test('it is looked for again for a minute', async () => {
  const { self, check, sent } = begin([false])
  await check.check()
  await vi.advanceTimersByTimeAsync(600_000)
  expect([sent(), self.url, vi.getTimerCount()]).toEqual([1 + 60, undefined, 0])
})
