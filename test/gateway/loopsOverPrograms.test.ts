/** Rings of gateways in which two programs follow each other. */
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { afterAll, expect, test, vi } from 'vitest'
import { freePort } from '../fixtures/httpHost.ts'
import { quickStart } from '../bundle/environment.ts'
import { startGatewayProcess } from './fixtures/gatewayProcess.ts'
import { call, connectClient, sessionServer } from './fixtures/gateways.ts'

const PATIENCE = { timeout: 30_000 }
const main = fileURLToPath(new URL('../../src/cli/main.ts', import.meta.url))
const folder = mkdtempSync(join(tmpdir(), 'pannier-rings-'))
afterAll(() => rmSync(folder, { recursive: true, force: true }))

/** An entry that starts a gateway with this file. */
const starting = (file: string): object => ({
  command: process.execPath,
  args: ['--conditions=pannier-source', main, 'gateway', file, '--stdio'],
  env: quickStart,
  pannier: { state: 'stateless', listSeconds: 1 },
})

function writeFile(name: string, mcpServers: object): string {
  const file = join(folder, name)
  writeFileSync(file, JSON.stringify({ mcpServers, gateway: { admin: false } }))
  return file
}

/** How many gateways run with files of this test. */
function gatewaysRunning(): number {
  const running = execFileSync('ps', ['-eo', 'args'], { encoding: 'utf8' }).split('\n')
  return running.filter((line) => line.includes(folder) && line.includes('--stdio')).length
}

async function toolsAt(url: string): Promise<readonly string[]> {
  return (await (await connectClient('v2', url)).listTools()).tools.map(({ name }) => name).toSorted()
}

test.each(['over HTTP', 'as a program'])(
  'a ring of two programs that leads back %s is cut, and what else is there is served',
  async (way) => {
    let requests = 0
    const { url } = await sessionServer(undefined, undefined, () => requests++)
    const ours = { url, pannier: { tools: { allow: ['add'] }, listSeconds: 1 } }
    const port = await freePort()
    const first = join(folder, `first ${way}.json`)
    const back =
      way === 'over HTTP' ? { url: `http://127.0.0.1:${port}/mcp`, pannier: { listSeconds: 1 } } : starting(first)
    const third = writeFile(`third ${way}.json`, { ours, back })
    const second = writeFile(`second ${way}.json`, { ours, third: starting(third) })
    const entries = { ours, second: starting(second) }
    const gateway = await startGatewayProcess(entries, { args: ['--port', String(port)], file: first })
    const whole = ['ours_add', 'second_ours_add', 'second_third_ours_add']
    await vi.waitFor(async () => expect(await toolsAt(gateway.url)).toEqual(whole), PATIENCE)
    expect(await call(await connectClient('v1', gateway.url), 'second_third_ours_add', { a: 1, b: 2 })).toBe('3')
    // All three gateways have read the lists again, twice or more; nothing grows.
    const before = requests
    await vi.waitFor(() => expect(requests).toBeGreaterThan(before + 9), PATIENCE)
    expect(await toolsAt(gateway.url)).toEqual(whole)
    expect(gatewaysRunning()).toBeLessThan(8)
  },
)
