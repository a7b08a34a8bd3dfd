/** Instances that are told where others are, and find none there, or one with other keys. */
import { createGateway, gatewayConfigOf } from 'pannier/gateway'
import { createServer } from 'pannier/server'
import { newKey } from 'pannier/state'
import { expect, onTestFinished, test, vi } from 'vitest'
import { freePort } from '../fixtures/httpHost.ts'
import { KEYS, quiet } from '../interop/fixtures/instances.ts'
import { modernServer, startGateway } from './fixtures/gateways.ts'
import { ScriptedServer } from './fixtures/statelessServers.ts'

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
  const other = await new ScriptedServer().start()
  other.answer = ({ res }) => res.writeHead(404).end()
  vi.stubEnv('PANNIER_PEERS', `${new URL(first.url).origin},${NOWHERE},${other.url}`)
  onTestFinished(() => void vi.unstubAllEnvs())
  const { logger, ofPeers } = recording()
  const { gateway } = await startGateway(servers, { keys: newKey(), logger })
  await vi.waitFor(() => expect(ofPeers()).toHaveLength(3), PATIENCE)
  const looks = other.received.length
  await vi.waitFor(() => expect(other.received.length).toBeGreaterThan(looks + 3), PATIENCE)
  expect(ofPeers()).toHaveLength(3)
  expect(ofPeers()).toContainEqual(otherKeys(first.url))
  expect(ofPeers()).toContainEqual(expect.objectContaining({ level: 'warn', address: `${NOWHERE}/mcp` }))
  const warnings = gateway.report().health['warnings']
  expect(warnings).toHaveLength(3)
  expect(warnings).toContain(
    `The instance at ${first.url} cannot open what this gateway seals, so they do not work together: it has other keys, or is no gateway. Give all gateways the same PANNIER_KEYS.`,
  )
  expect(warnings).toContainEqual(expect.stringContaining(`No gateway is at ${NOWHERE}/mcp, where PANNIER_PEERS says`))
})

test('a warning that no gateway is at an address, or another program, ends when one is there', async () => {
  const servers = { ours: { url: (await modernServer()).url } }
  const scripted = await new ScriptedServer().start()
  scripted.answer = ({ res }) => res.writeHead(404).end()
  const other = scripted.url
  const origin = `http://127.0.0.1:${await freePort()}`
  vi.stubEnv('PANNIER_PEERS', `${other},${origin}`)
  onTestFinished(() => void vi.unstubAllEnvs())
  const { gateway } = await startGateway(servers, { logger: quiet })
  const warnings = (): unknown => gateway.report().health['warnings']
  await vi.waitFor(() => expect(warnings()).toHaveLength(2), PATIENCE)
  const second = createGateway({ ...(await gatewayConfigOf({ servers })), keys: KEYS, logger: quiet })
  onTestFinished(() => second.drain({ deadlineMs: 0 }))
  await second.listen({ port: Number(new URL(origin).port), drainOnTerm: false })
  await vi.waitFor(() => expect(warnings()).toEqual([expect.stringContaining(`No gateway is at ${other}`)]), PATIENCE)
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
