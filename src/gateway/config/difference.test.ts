import { expect, test } from 'vitest'
import { difference, type GatewayConfig, gatewayConfigOf } from './index.ts'

function config(servers: object, gateway = {}): Promise<GatewayConfig> {
  return gatewayConfigOf({ servers, gateway }, { env: {}, folder: '/f' })
}

test('a reload tells apart what is new, gone, changed and the same', async () => {
  const before = await config({
    gone: { command: 'g' },
    kept: { command: 'k', env: { A: '1', B: '2' } },
    address: { url: 'http://a/1' },
    setting: { command: 's' },
  })
  const after = await config({
    fresh: { command: 'f' },
    setting: { command: 's', pannier: { maxProcesses: 2 } },
    address: { url: 'http://a/2' },
    kept: { command: 'k', env: { B: '2', A: '1' } },
  })
  const found = difference(before, after)
  const names = (list: readonly { readonly name: string }[]): string[] => list.map(({ name }) => name)
  expect(names(found.added)).toEqual(['fresh'])
  expect(names(found.removed)).toEqual(['gone'])
  expect(names(found.changed.map((pair) => pair.after))).toEqual(['setting', 'address'])
  expect(found.changed[1]?.before.address).toEqual({ url: 'http://a/1', headers: {} })
  expect(names(found.same)).toEqual(['kept'])
  expect(found.same[0]).toBe(before.servers[1])
  expect(found.settings).toBe(false)
})

test('a setting of the gateway for its servers changes them, too', async () => {
  const servers = { a: { command: 'a' } }
  const found = difference(await config(servers), await config(servers, { definitions: 'pin' }))
  expect(found).toMatchObject({ settings: true, changed: [{ after: { name: 'a' } }], same: [] })
})
