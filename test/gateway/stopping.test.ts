/** A gateway that is told to end while servers start. */
import { createServer as createHost } from 'node:http'
import type { AddressInfo } from 'node:net'
import { setTimeout as sleep } from 'node:timers/promises'
import { expect, onTestFinished, test, vi } from 'vitest'
import { startGatewayProcess } from './fixtures/gatewayProcess.ts'
import { descendantsOf, isAlive } from './fixtures/processTree.ts'

const PATIENCE = { timeout: 30_000 }

/** Takes requests and never answers. */
async function silentServer(): Promise<string> {
  const host = createHost(() => {})
  await new Promise<void>((resolve) => host.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    host.close()
    host.closeAllConnections()
  })
  return `http://127.0.0.1:${(host.address() as AddressInfo).port}/`
}

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
