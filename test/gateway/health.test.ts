/** Whether a gateway is ready, and how an orchestrator learns that: at the clients' address, without a token. */
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { request } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { gatewayConfigOf, readGatewayConfig } from 'pannier/gateway'
import { expect, onTestFinished, test, vi } from 'vitest'
import { modernServer, startGateway, stdioEntry } from './fixtures/gateways.ts'

const PATIENCE = { timeout: 30_000 }

/** Asks as the kubelet does, by the address of the pod. */
function probe(url: string, path: string, method = 'GET'): Promise<{ status: number; body: string }> {
  const { promise, resolve, reject } = Promise.withResolvers<{ status: number; body: string }>()
  const { port } = new URL(url)
  request({ host: '127.0.0.1', port, path, method, headers: { host: `10.1.2.3:${port}` } }, (res) => {
    let body = ''
    res.on('data', (chunk: Buffer) => (body += chunk.toString()))
    res.on('end', () => resolve({ status: res.statusCode ?? 0, body }))
  })
    .on('error', reject)
    .end()
  return promise
}

test("an orchestrator learns at the clients' address whether the gateway is ready, and nothing else", async () => {
  const principal = () => {
    throw new Error('No token.')
  }
  const top = { gateway: { allowedHosts: ['mcp.example.com'] } }
  const { url, gateway } = await startGateway({ ours: { url: (await modernServer()).url } }, { principal }, top)
  const { status, body } = await probe(url, '/health')
  expect([status, JSON.parse(body)]).toEqual([200, { live: true, ready: true }])
  expect(await probe(url, '/health', 'HEAD')).toEqual({ status: 200, body: '' })
  expect((await probe(url, '/health/live')).status).toBe(200)
  for (const path of ['/servers', '/metrics', '/health/servers']) expect((await probe(url, path)).status).toBe(404)
  await gateway.reload(await gatewayConfigOf({ ...top, mcpServers: { gone: { url: 'http://127.0.0.1:9/' } } }))
  const away = await probe(url, '/health')
  expect([away.status, JSON.parse(away.body)]).toEqual([503, { live: true, ready: false }])
  expect((await probe(url, '/health/live')).status).toBe(200)
})

test('a gateway is not ready while all servers are left out, refused or withheld', async () => {
  const ready = (gateway: { report(): { health: object } }) => gateway.report().health
  const absent = await startGateway({ lost: { url: 'http://127.0.0.1:9/', headers: { 'x-key': '${ABSENT_KEY}' } } })
  expect(ready(absent.gateway)).toMatchObject({ ready: false, leftOut: 1 })
  const rejecting = await startGateway({ kept: stdioEntry() }, {}, { gateway: { stateful: 'reject' } })
  expect(ready(rejecting.gateway)).toMatchObject({ ready: false, up: 1 })
  const folder = mkdtempSync(join(tmpdir(), 'pannier-health-'))
  onTestFinished(() => rmSync(folder, { recursive: true, force: true }))
  const file = join(folder, 'mcp.json')
  writeFileSync(file, JSON.stringify({ mcpServers: { kept: stdioEntry() }, gateway: { definitions: 'pin' } }))
  writeFileSync(join(folder, 'mcp.pins.json'), 'not JSON')
  const { gateway, url } = await startGateway({}, await readGatewayConfig(file))
  expect(ready(gateway)).toMatchObject({ ready: false, up: 1 })
  expect((await probe(url, '/health')).status).toBe(503)
  rmSync(join(folder, 'mcp.pins.json'))
  await vi.waitFor(() => expect(ready(gateway)).toMatchObject({ ready: true }), PATIENCE)
})
