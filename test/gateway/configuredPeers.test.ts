/** Instances that are told where others are, and find none there, or one with other keys. */
import { createServer } from 'pannier/server'
import { newKey } from 'pannier/state'
import { expect, onTestFinished, test, vi } from 'vitest'
import { KEYS, quiet } from '../interop/fixtures/instances.ts'
import { modernServer, startGateway } from './fixtures/gateways.ts'

const PATIENCE = { timeout: 30_000 }
const NOWHERE = 'http://127.0.0.1:1'

function recording() {
  const lines: object[] = []
  const at = (level: string) => (fields: object, text: string) => void lines.push({ level, ...fields, text })
  const logger = { ...quiet, info: at('info'), warn: at('warn') }
  const ofPeers = (): object[] => lines.filter((line) => 'address' in line)
  return { logger, ofPeers }
}

const otherKeys = (address: string) => ({
  level: 'warn',
  address,
  text: expect.stringContaining('Give all instances the same PANNIER_KEYS.'),
})

test('a gateway says once which address has a gateway with other keys, and where none is', async () => {
  const servers = { ours: { url: (await modernServer()).url } }
  const first = await startGateway(servers)
  vi.stubEnv('PANNIER_PEERS', `${new URL(first.url).origin},${NOWHERE}`)
  onTestFinished(() => void vi.unstubAllEnvs())
  const { logger, ofPeers } = recording()
  await startGateway(servers, { keys: newKey(), logger })
  await vi.waitFor(() => expect(ofPeers()).toHaveLength(2), PATIENCE)
  await new Promise((resolve) => setTimeout(resolve, 700))
  expect(ofPeers()).toHaveLength(2)
  expect(ofPeers()).toContainEqual(otherKeys(first.url))
  expect(ofPeers()).toContainEqual(expect.objectContaining({ level: 'info', address: `${NOWHERE}/mcp` }))
})

test('so does a server', async () => {
  const options = { name: 'peer', version: '1' }
  const first = createServer({ ...options, keys: KEYS, logger: quiet })
  const { url } = await first.listen({ drainOnTerm: false })
  const { logger, ofPeers } = recording()
  const second = createServer({ ...options, keys: newKey(), logger, peers: [url] })
  await second.listen({ drainOnTerm: false })
  onTestFinished(async () => void (await Promise.all([first, second].map((each) => each.drain({ deadlineMs: 0 })))))
  await vi.waitFor(() => expect(ofPeers()).toEqual([otherKeys(url)]), PATIENCE)
})
