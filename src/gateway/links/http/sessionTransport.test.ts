import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { afterEach, expect, onTestFinished, test, vi } from 'vitest'
import type { Authorizer } from '../../../client/index.ts'
import { Upstream } from '../../upstreams/upstreams.ts'
import { SessionTransport } from './sessionTransport.ts'

afterEach(() => void vi.useRealTimers())

/** A transport to a server that answers so, until the test is over. */
async function connected(answer: RequestListener, authorizer?: Authorizer) {
  const server = createServer(answer)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  const upstream = new Upstream(url)
  const address = { url, headers: {} }
  const transport = new SessionTransport({ address, upstream, authorizer, headers: undefined, session: undefined })
  onTestFinished(async () => {
    await transport.close()
    upstream.close()
    server.close()
    server.closeAllConnections()
  })
  return { transport, upstream }
}

test('a notification that a server never answers takes no connection for ever', async () => {
  const { promise: got, resolve: gets } = Promise.withResolvers<void>()
  const { transport, upstream } = await connected(() => gets())
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

test('a call that is cancelled during a login is not sent after it', async () => {
  const login = Promise.withResolvers<void>()
  let token = 'old'
  const authorizer = {
    tokens: () => ({ access_token: token, token_type: 'Bearer' }),
    exclusive: async (flow: () => Promise<void>) => {
      await login.promise
      token = 'new'
      await flow()
    },
  } as unknown as Authorizer
  const posted: string[] = []
  const { transport } = await connected((req, res) => {
    void text(req).then((body) => {
      const isNew = req.headers.authorization === 'Bearer new'
      posted.push(`${(JSON.parse(body) as { method: string }).method} ${isNew ? 'new' : 'old'}`)
      res.writeHead(isNew ? 202 : 401).end()
    })
  }, authorizer)
  const sent = transport.send({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { name: 'pay' } })
  const outcome = sent.catch((error: unknown) => error)
  await vi.waitFor(() => expect(posted).toEqual(['tools/call old']))
  const cancelled = transport.send({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 1 } })
  login.resolve()
  expect(await outcome).toMatchObject({ message: 'The request was cancelled during a login.' })
  await cancelled
  expect(posted).not.toContain('tools/call new')
})
