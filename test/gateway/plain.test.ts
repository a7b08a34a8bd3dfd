/** Servers that put commands for terminals into all that they say, and everything that an operator of a gateway looks at. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { hostUntil } from '../fixtures/until.ts'
import { NASTY } from '../client/fixtures/servers/pannier.ts'
import { startSteeringServer } from '../client/fixtures/servers/steering.ts'
import { connectClient } from './fixtures/gateways.ts'
import { startGatewayProcess } from './fixtures/gatewayProcess.ts'

const PATIENCE = { timeout: 30_000 }
const STEERING = /(?![\n\t])[\p{Cc}\p{Bidi_Control}\p{Zl}\p{Zp}\p{Default_Ignorable_Code_Point}]/u
const MORE = `${NASTY}\u2066\u2028\u200b\u007f`

/** Answers every request with an error that is worded so. */
async function refusingServer(): Promise<string> {
  const host = await hostUntil((_, res) => {
    const error = { code: -32603, message: MORE, data: MORE }
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id: 1, error }))
  })
  return host.url
}

const printing = (stream: 'stdout' | 'stderr'): object => ({
  command: process.execPath,
  args: ['-e', `process.${stream}.write(${JSON.stringify(`${MORE}\n`)}, () => process.exit(1))`],
})

/** A file beside which no tool of the server "pinned" is accepted, so that all of them are withheld. */
function fileWithPins(): string {
  const folder = mkdtempSync(join(tmpdir(), 'pannier-plain-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  writeFileSync(join(folder, 'mcp.pins.json'), JSON.stringify({ version: 1, servers: { pinned: {} } }))
  return join(folder, 'mcp.json')
}

test.each([1, 2])('nothing that an operator looks at steers a terminal; workers: %d', async (workers) => {
  const steering = await startSteeringServer()
  onTestFinished(() => steering.close())
  const servers = {
    steering: { url: steering.url },
    pinned: { url: steering.url, pannier: { definitions: 'freeze' } },
    refusing: { url: await refusingServer() },
    printing: printing('stdout'),
    complaining: printing('stderr'),
  }
  const { admin, url, shown } = await startGatewayProcess(servers, {
    settings: { admin: { port: 0 } },
    args: ['--workers', `${workers}`],
    env: { PANNIER_LOG_LEVEL: 'trace' },
    file: fileWithPins(),
  })
  const client = await connectClient('v2', url, {}, {})
  for (const { name } of (await client.listTools()).tools) await client.callTool({ name }).catch(() => undefined)
  await vi.waitFor(() => expect(shown()).toMatch(/"tool":"a.*back/), PATIENCE)
  const page = async (name: string): Promise<string> => (await fetch(`${admin}${name}`)).text()
  const seen = {
    log: shown(),
    health: await page('health'),
    servers: await page('servers'),
    metrics: await page('metrics'),
  }
  for (const [door, text] of Object.entries(seen)) {
    expect.soft(text, door).toContain('back') // the server's own words
    expect.soft(text, door).not.toMatch(STEERING)
  }
  expect(JSON.stringify(JSON.parse(seen.servers))).toContain('\u202eback') // nothing is lost
})
