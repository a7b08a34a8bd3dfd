/** Gateways that look up in PostgreSQL who of them serves which caller. */
import { beforeAll, expect, test } from 'vitest'
import { newDatabase } from '../postgres/database.ts'
import { startBalancer } from '../survival/balancer.ts'
import { startGatewayProcess } from './fixtures/gatewayProcess.ts'
import { call, connectClient, sessionServer, stdioEntry } from './fixtures/gateways.ts'

let postgres = ''
let http: Awaited<ReturnType<typeof sessionServer>>
const requests: string[] = []

beforeAll(async () => {
  const ends: (() => unknown)[] = []
  const until = (end: () => unknown): void => void ends.unshift(end)
  http = await sessionServer(until, undefined, (req) => void requests.push(String(req.method)))
  return async () => {
    for (const end of ends) await end()
  }
})

async function start(count: number, settings: object = {}) {
  postgres = await newDatabase()
  const servers = { http: { url: http.url, pannier: { state: 'stateful' } }, stdio: stdioEntry() }
  const options = { settings: { admin: false, ...settings }, args: ['--postgres', postgres] }
  const gateways = await Promise.all(Array.from({ length: count }, () => startGatewayProcess(servers, options)))
  const balancer = await startBalancer()
  balancer.targets = gateways.map(({ url }) => url)
  return { gateways, balancer, url: balancer.url }
}

test('a session outlives the gateway that began it', async () => {
  const {
    gateways: [first = expect.fail(), second = expect.fail()],
    balancer,
    url,
  } = await start(2)
  balancer.targets = [first.url]
  const ann = await connectClient('v1', url)
  await call(ann, 'http_note', { text: 'milk' })
  await call(ann, 'stdio_note', { text: 'milk' })
  balancer.targets = [second.url]
  expect(await call(ann, 'http_recall')).toBe('milk')
  expect(await call(ann, 'stdio_recall')).toBe('milk')
  await first.end('SIGKILL')
  expect(await call(ann, 'http_recall')).toBe('milk')
  expect(await call(ann, 'http_confirm')).toBe('accept true, accept true')
  expect(await call(ann, 'stdio_recall')).toBe('')
})
