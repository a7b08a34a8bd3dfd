import { expect, test } from 'vitest'
import { difference, restartSettings, type GatewayConfig, gatewayConfigOf } from './index.ts'

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
})

test('a setting of the gateway for its servers changes them, too', async () => {
  const servers = { a: { command: 'a' } }
  const found = difference(await config(servers), await config(servers, { definitions: 'pin' }))
  expect(found).toMatchObject({ changed: [{ after: { name: 'a' } }], same: [] })
})

test('settings that a reload does not set are named where they differ', async () => {
  const servers = { a: { command: 'a' } }
  const before = await config(servers, { workers: 2, limits: { callsAtOnce: 3 }, leaseSeconds: 30 })
  const reloaded = { catalogue: 'search', definitions: 'pin', stateful: 'reject', views: { v: { tools: ['a_*'] } } }
  const after = await config(servers, {
    ...reloaded,
    limits: { callsAtOnce: 4 },
    leaseSeconds: 30,
    allowedHosts: ['a.example'],
  })
  expect(restartSettings(before.settings, after.settings)).toEqual(['workers', 'allowedHosts'])
  expect(restartSettings(before.settings, before.settings)).toEqual([])
})
