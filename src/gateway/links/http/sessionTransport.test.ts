import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import { Upstream } from '../../upstreams/upstreams.ts'
import { SessionTransport } from './sessionTransport.ts'

afterEach(() => void vi.useRealTimers())

test('a notification that a server never answers takes no connection for ever', async () => {
  const { promise: got, resolve: gets } = Promise.withResolvers<void>()
  const server = createServer(() => gets())
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  const upstream = new Upstream(url)
  const transport = new SessionTransport({
    address: { url, headers: {} },
    upstream,
    authorizer: undefined,
    headers: undefined,
    session: undefined,
  })
  onTestFinished(async () => {
    await transport.close()
    upstream.close()
    server.close()
    server.closeAllConnections()
  })
  vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] })
  const params = { requestId: 1 }
  const sent = transport.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params })
  const outcome = sent.catch((error: unknown) => error)
  await got
  await vi.advanceTimersByTimeAsync(59_000)
  expect(upstream.inFlight).toBe(1)
  await vi.advanceTimersByTimeAsync(2_000)
  expect(await outcome).toBeInstanceOf(Error)
  expect(upstream.inFlight).toBe(0)
})
