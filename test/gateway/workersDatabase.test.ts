/** Gateways of several processes each, which look up in PostgreSQL who serves which caller, and one that is killed. */
import { expect, onTestFinished, test } from 'vitest'
import { newDatabase } from '../postgres/database.ts'
import { startBalancer } from '../survival/balancer.ts'
import { startGatewayProcess } from './fixtures/gatewayProcess.ts'
import { call, connectClient, sessionServer, stdioEntry } from './fixtures/gateways.ts'

const ROUNDS = 6

test.each(['v1', 'v2 in a session'] as const)(
  'with workers and PostgreSQL, a caller with the client %s is served in one place, and its HTTP session outlives the gateway',
  async (kind) => {
    const http = await sessionServer()
    const servers = { http: { url: http.url, pannier: { state: 'stateful' } }, stdio: stdioEntry() }
    const args = ['--workers', '2', '--postgres', await newDatabase()]
    const [first, second] = await Promise.all([1, 2].map(() => startGatewayProcess(servers, { args })))
    if (first === undefined || second === undefined) return expect.fail()
    const balancer = await startBalancer()
    onTestFinished(() => balancer.close())
    balancer.targets = [first.url, second.url]
    const [ann, bob] = await Promise.all([1, 2].map(() => connectClient(kind, balancer.url)))
    if (ann === undefined || bob === undefined) return expect.fail()
    for (const server of ['http', 'stdio']) {
      await call(ann, `${server}_note`, { text: 'milk' })
      await call(bob, `${server}_note`, { text: 'bread' })
    }
    for (let round = 0; round < ROUNDS; round++)
      for (const server of ['http', 'stdio']) {
        expect(await call(ann, `${server}_recall`)).toBe('milk')
        expect(await call(bob, `${server}_recall`)).toBe('bread')
      }
    balancer.targets = [second.url]
    await first.end('SIGKILL')
    for (let round = 0; round < ROUNDS; round++) {
      expect(await call(ann, 'http_recall')).toBe('milk')
      expect(await call(bob, 'http_recall')).toBe('bread')
    }
    expect(await call(ann, 'http_confirm')).toBe('accept true, accept true')
  },
  90_000,
)
