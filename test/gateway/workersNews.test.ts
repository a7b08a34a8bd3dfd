/** What a gateway with workers says of how it is set up. */
import { expect, test, vi } from 'vitest'
import { type GatewayProcess, startGatewayProcess } from './fixtures/gatewayProcess.ts'
import { sessionServer, stdioEntry } from './fixtures/gateways.ts'

const PATIENCE = { timeout: 30_000 }
const workers = { args: ['--workers', '2'], env: { PANNIER_LOG_LEVEL: 'warn' } }

/** Waits until workers have looked at their setup again, and found a view that is wrong by then. */
async function lookedAgain({ reload, shown }: GatewayProcess, mcpServers: object): Promise<void> {
  const views = { odd: { rename: { stdio_nothing: 'something' } } }
  await reload(JSON.stringify({ mcpServers, gateway: { admin: false, views } }))
  await vi.waitFor(() => expect(shown()).toContain('The view "odd" renames'), PATIENCE)
}

const count = (text: string, part: string): number => text.split(part).length - 1

/** What is lost with a worker is said once for all of them, and not in words for several gateways. */
async function saysWhatWorkersLose(): Promise<void> {
  const servers = { stdio: stdioEntry(), http: { url: (await sessionServer()).url, pannier: { state: 'stateful' } } }
  const gateway = await startGatewayProcess(servers, workers)
  const { shown } = gateway
  const sentence =
    'Each caller of "stdio", "http" is served by one worker, since these servers may keep something for each caller. What they keep is lost when that worker ends; with --postgres URL, sessions over HTTP outlive it.\n'
  await vi.waitFor(() => expect(shown()).toContain(sentence), PATIENCE)
  await lookedAgain(gateway, servers)
  expect(count(shown(), 'may keep something for each caller')).toBe(1)
}

/** Workers that have other gateways beside them say once what is lost there. */
async function saysWhatGatewaysLose(): Promise<void> {
  const env = { ...workers.env, PANNIER_PEERS: 'http://127.0.0.1:1' }
  const servers = { stdio: stdioEntry() }
  const gateway = await startGatewayProcess(servers, { ...workers, env })
  const { shown } = gateway
  await vi.waitFor(() => expect(shown()).toContain('Several gateways serve "stdio", which may keep'), PATIENCE)
  await lookedAgain(gateway, servers)
  expect(count(shown(), 'Several gateways serve')).toBe(1)
}

test('what is lost with a worker, or with a gateway beside others, is said once for all workers', async () => {
  await Promise.all([saysWhatWorkersLose(), saysWhatGatewaysLose()])
})
