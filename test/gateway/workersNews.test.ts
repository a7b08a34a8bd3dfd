/** What a gateway with workers says of its servers and of how it is set up. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { startGatewayProcess } from './fixtures/gatewayProcess.ts'
import { sessionServer, stdioEntry } from './fixtures/gateways.ts'

const PATIENCE = { timeout: 30_000 }
const workers = { args: ['--workers', '2'], env: { PANNIER_LOG_LEVEL: 'warn' } }

const count = (text: string, part: string): number => text.split(part).length - 1

test('a server that is not there at the start is in the log, once for each worker', async () => {
  const { shown } = await startGatewayProcess({ gone: { url: 'http://127.0.0.1:1/' } }, workers)
  await vi.waitFor(() => expect(count(shown(), 'A server is not there.')).toBe(2), PATIENCE)
  expect(shown()).toMatch(/"server":"gone","why":"it cannot be reached/)
})

test('what is lost with a worker is said once for all of them, and not in words for several gateways', async () => {
  const servers = { stdio: stdioEntry(), http: { url: (await sessionServer()).url, pannier: { state: 'stateful' } } }
  const { shown } = await startGatewayProcess(servers, workers)
  const sentence =
    'Each caller of "stdio", "http" is served by one worker, since these servers may keep something for each caller. What they keep is lost when that worker ends; with --postgres URL, sessions over HTTP outlive it.\n'
  await vi.waitFor(() => expect(shown()).toContain(sentence), PATIENCE)
  await sleep(6000) // workers look every 5 seconds
  expect(count(shown(), 'may keep something for each caller')).toBe(1)
})

test('workers that have other gateways beside them say once what is lost there', async () => {
  const env = { ...workers.env, PANNIER_PEERS: 'http://127.0.0.1:1' }
  const { shown } = await startGatewayProcess({ stdio: stdioEntry() }, { ...workers, env })
  await vi.waitFor(() => expect(shown()).toContain('Several gateways serve "stdio", which may keep'), PATIENCE)
  await sleep(6000)
  expect(count(shown(), 'Several gateways serve')).toBe(1)
})
