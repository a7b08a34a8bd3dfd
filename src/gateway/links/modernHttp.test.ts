import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { describe, expect, onTestFinished, test } from 'vitest'
import { MODERN_VERSION } from '../../protocol/index.ts'
import type { Authorizer } from '../../client/index.ts'
import { Via } from '../loops.ts'
import { type Link, type LinkOptions, ownRequest } from './link.ts'
import { openModernHttp } from './modernHttp.ts'

const ABOUT = { resultType: 'complete', supportedVersions: [MODERN_VERSION], capabilities: {} }
const STREAM = { 'content-type': 'text/event-stream' }
const authorizer = { tokens: () => ({ access_token: 'a', token_type: 'Bearer' }) } as unknown as Authorizer

/** A link to a server that answers each call so. */
async function open(answer: (res: ServerResponse, id: unknown) => void, login: boolean, timeoutMs = 20_000) {
  const serve = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    const { id, method } = JSON.parse(Buffer.concat(await req.toArray()).toString()) as { id: unknown; method: string }
    if (method !== 'server/discover') return answer(res, id)
    res.writeHead(200, { 'content-type': 'application/json' })
    res.end(JSON.stringify({ jsonrpc: '2.0', id, result: ABOUT }))
  }
  const server = createServer((req, res) => void serve(req, res))
  await new Promise<void>((resolve) => void server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    server.closeAllConnections()
    server.close()
  })
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  const options = { server: 's', via: new Via(), timeoutMs, startMs: 20_000, signal: new AbortController().signal }
  const link = await openModernHttp({ url }, options as unknown as LinkOptions, login ? authorizer : undefined)
  return link ?? expect.fail('It is of the session era.')
}

const call = (link: Link, onCancel: (listener: () => void) => void = () => {}) =>
  link.request(ownRequest('tools/call', { name: 't' }, { onCancel }))

describe.each([
  ['without a login', false],
  ['with a login', true],
])('a call %s', (_, login) => {
  test('is answered by a message, or by an event of a stream', async () => {
    let isStream = false
    const link = await open((res, id) => {
      const message = JSON.stringify({ jsonrpc: '2.0', id, result: { content: [] } })
      res.writeHead(200, isStream ? STREAM : { 'content-type': 'application/json' })
      res.end(isStream ? `data: ${message}\n\n` : message)
      isStream = true
    }, login)
    expect(await call(link)).toEqual({ content: [] })
    expect(await call(link)).toEqual({ content: [] })
    expect(link.inFlight).toBe(0)
  })

  test('ends when its caller leaves, in the middle of a stream', async () => {
    const begun = Promise.withResolvers<void>()
    const link = await open((res) => {
      res.writeHead(200, STREAM)
      res.write(': begun\n\n', () => begun.resolve())
    }, login)
    const cancel: (() => void)[] = []
    const called = call(link, (listener) => void cancel.push(listener))
    await begun.promise
    for (const each of cancel) each()
    await expect(called).rejects.toMatchObject({ reason: 'BACKEND_LOST' })
    expect(link.inFlight).toBe(0)
  })

  test('ends after its time, in the middle of a stream', async () => {
    const link = await open((res) => res.writeHead(200, STREAM).flushHeaders(), login, 200)
    await expect(call(link)).rejects.toMatchObject({ reason: 'BACKEND_TIMEOUT' })
    expect(link.inFlight).toBe(0)
  })

  test('has a time limit that does not count for the discovery before it', async () => {
    const link = await open(() => {}, login, 1)
    await expect(call(link)).rejects.toMatchObject({ reason: 'BACKEND_TIMEOUT' })
  })

  test.each<[string, (res: ServerResponse) => void]>([
    ['before the answer', (res) => res.destroy()],
    ['in the middle of a stream', (res) => void res.writeHead(200, STREAM).write(': begun\n\n', () => res.destroy())],
    [
      'in the middle of a message',
      (res) => void res.writeHead(200, { 'content-type': 'application/json' }).write('{', () => res.destroy()),
    ],
  ])('may have had effects where its connection breaks %s', async (_case, answer) => {
    const link = await open(answer, login)
    await expect(call(link)).rejects.toMatchObject({
      reason: 'BACKEND_LOST',
      message: expect.stringContaining('may have happened'),
    })
  })
})
