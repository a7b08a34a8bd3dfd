/** A gateway that is told to end while servers start, and while calls wait for their clients. */
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, test, vi } from 'vitest'
import { startGatewayProcess } from './fixtures/gatewayProcess.ts'
import { sessionServer, silentServer, stdioEntry } from './fixtures/gateways.ts'
import { sure, textOf } from './fixtures/parkedRounds.ts'
import { descendantsOf, isAlive } from './fixtures/processTree.ts'
import { byHand } from './fixtures/workers.ts'

const PATIENCE = { timeout: 30_000 }
/** More than connections have to be closed, and less than half of the time of a stop. */
const ANSWERED_AFTER_MS = 9000

test.each([
  ['of one process', []],
  ['with workers', ['--workers', '2']],
])('a gateway %s that is stopped while servers start ends with them, and says nothing of them', async (_, args) => {
  const url = await silentServer()
  const silent = { command: process.execPath, args: ['-e', 'setInterval(() => {}, 1000)'] }
  const gateway = await startGatewayProcess(
    { silent, http: { url }, sse: { url, type: 'sse' } },
    { args, env: { PANNIER_LOG_LEVEL: 'info' }, ready: /Serving/ },
  )
  const { pid, shown } = gateway
  await sleep(500) // which they need to start
  const started = descendantsOf(pid)
  const since = performance.now()
  expect(await gateway.end('SIGTERM')).toBe(0)
  expect(performance.now() - since).toBeLessThan(15_000) // of 60 that they have to start
  expect(shown()).toContain('Drained.')
  expect(shown()).not.toContain('is not there')
  await vi.waitFor(() => expect(started.filter(isAlive)).toEqual([]), PATIENCE)
})

test('a call that waits while its gateway is stopped is answered there for a while, wherever the answer comes to', async () => {
  const http = { url: (await sessionServer()).url, pannier: { state: 'stateful' } }
  const servers = { http, stdio: stdioEntry() }
  const env = { PANNIER_LOG_LEVEL: 'info' }
  const [alone, owner, several] = await Promise.all([
    startGatewayProcess(servers, { env }),
    startGatewayProcess(servers, { env }),
    startGatewayProcess(servers, { env, args: ['--workers', '2'] }),
  ])
  const calls = [alone, owner, several].flatMap((gateway) =>
    Object.keys(servers).map((server) => ({ gateway, server })),
  )
  const waiting = await Promise.all(
    calls.map(async ({ gateway, server }) => ({
      gateway,
      server,
      asked: await byHand(gateway.url, `${server}_confirm`),
    })),
  )
  // Which has not been there before, so that no caller is placed there.
  const other = await startGatewayProcess(servers, { env: { PANNIER_PEERS: new URL(owner.url).origin } })
  const ends = [alone, owner, several].map((gateway) => gateway.end('SIGTERM'))
  for (const { shown } of [alone, owner])
    await vi.waitFor(() => expect(shown()).toMatch(/"waiting":2.*"Draining\."/), PATIENCE)
  await sleep(ANSWERED_AFTER_MS)
  const results = await Promise.all(
    waiting.map(async ({ gateway, server, asked }) => {
      const { url } = gateway === owner ? other : gateway
      const again = await byHand(url, `${server}_confirm`, {}, sure(asked))
      return textOf(await byHand(url, `${server}_confirm`, {}, sure(again)))
    }),
  )
  expect(results).toEqual(results.map(() => 'accept true, accept true'))
  expect(await Promise.all(ends)).toEqual([0, 0, 0])
})
