/** A gateway that is told to end while servers start, and while calls wait for their clients. */
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { startGatewayProcess } from './fixtures/gatewayProcess.ts'
import { sessionServer, silentServer, stdioEntry } from './fixtures/gateways.ts'
import { sure, textOf } from './fixtures/parkedRounds.ts'
import { descendantsOf, isAlive } from './fixtures/processTree.ts'
import { byHand } from './fixtures/workers.ts'

const PATIENCE = { timeout: 30_000 }

test.each([
  ['of one process', [], 1],
  ['with workers', ['--workers', '2'], 2],
])(
  'a gateway %s that is stopped while servers start ends with them, and says nothing of them',
  async (_, args, each) => {
    const folder = mkdtempSync(join(tmpdir(), 'pannier-starts-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const starts = join(folder, 'starts')
    writeFileSync(starts, '')
    let requests = 0
    const url = await silentServer(() => requests++)
    const program = `require('node:fs').appendFileSync(${JSON.stringify(starts)}, '.'); setInterval(() => {}, 1000)`
    const silent = { command: process.execPath, args: ['-e', program] }
    const gateway = await startGatewayProcess(
      { silent, http: { url }, sse: { url, type: 'sse' } },
      { args, env: { PANNIER_LOG_LEVEL: 'info' }, ready: /Serving/ },
    )
    const { pid, shown } = gateway
    await vi.waitFor(() => expect([readFileSync(starts, 'utf8').length, requests]).toEqual([each, each * 2]), PATIENCE)
    const started = descendantsOf(pid)
    const since = performance.now()
    expect(await gateway.end('SIGTERM')).toBe(0)
    expect(performance.now() - since).toBeLessThan(15_000) // of 60 that they have to start
    expect(shown()).toContain('Drained.')
    expect(shown()).not.toContain('is not there')
    await vi.waitFor(() => expect(started.filter(isAlive)).toEqual([]), PATIENCE)
  },
)

test('a call that waits while its gateway is stopped is answered there for a while, wherever the answer comes to', async () => {
  const http = { url: (await sessionServer()).url, pannier: { state: 'stateful' } }
  const servers = { http, stdio: stdioEntry() }
  const env = { PANNIER_LOG_LEVEL: 'info' }
  const [alone, owner, several, unused] = await Promise.all([
    startGatewayProcess(servers, { env }),
    startGatewayProcess(servers, { env }),
    startGatewayProcess(servers, { env, args: ['--workers', '2'] }),
    startGatewayProcess({}),
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
  await halfRequest(unused.url)
  const ends = [alone, owner, several].map((gateway) => gateway.end('SIGTERM'))
  for (const { shown } of [alone, owner])
    await vi.waitFor(() => expect(shown()).toMatch(/"waiting":2.*"Draining\."/), PATIENCE)
  await unused.end('SIGTERM') // it closes the connection when that had its time
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

/** A request whose end does not come, until the server closes its connection. */
async function halfRequest(url: string): Promise<void> {
  const socket = connect(Number(new URL(url).port), '127.0.0.1')
  socket.on('error', () => {})
  await once(socket, 'connect')
  socket.write('POST /mcp HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Type: application/json\r\nContent-Length: 10\r\n\r\n{')
}
