import { expect, test } from 'vitest'
import { gatewayConfigOf } from '../config/index.ts'
import { share, splitLimits } from './worker.ts'

test.each([
  [16, 2, [8, 8]],
  [16, 3, [6, 5, 5]],
  [3, 2, [2, 1]],
  [1, 2, [1, 1]],
  [1000, 1, [1000]],
])('a limit of %i for %i workers', (limit, workers, shares) => {
  expect(shares.map((_, index) => share(limit, { worker: index + 1, workers }))).toEqual(shares)
})

test('what a server may use is split between workers, and nothing else of the configuration changes', async () => {
  const pannier = { maxProcesses: 5, maxSessions: 9, maxInFlight: 100, timeoutSeconds: 7 }
  const config = await gatewayConfigOf({ mcpServers: { one: { command: 'node', pannier } } })
  const { servers, ...rest } = splitLimits(config, { worker: 2, workers: 2 })
  expect(servers[0]?.settings).toEqual({
    ...config.servers[0]?.settings,
    maxProcesses: 2,
    maxSessions: 4,
    maxInFlight: 50,
  })
  expect({ ...rest, servers: config.servers }).toEqual(config)
})
