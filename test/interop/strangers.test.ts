/** Whoever has no key of a server, at an address where one of its instances is expected. */
import { createServer as createHttpServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createServer } from 'pannier/server'
import { newKey } from 'pannier/state'
import { afterEach, expect, test } from 'vitest'
import { quiet, startHere, startProgram } from './fixtures/instances.ts'
import { RawSession } from './fixtures/rawSession.ts'

const capabilities = { elicitation: {} }
const closers: (() => unknown)[] = []

afterEach(async () => {
  for (const close of closers.splice(0).reverse()) await close()
})

async function listening(listener: RequestListener, port = 0): Promise<string> {
  const server = createHttpServer(listener)
  await new Promise<void>((resolve) => server.listen(port, '127.0.0.1', resolve))
  closers.push(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
}

test('a server with other keys at the address of a peer is none: nothing is handed to it when the instance stops', async () => {
  const other = createServer({ name: 'interop', version: '1.0.0', keys: newKey(), logger: quiet })
  const handle = other.nodeHandler()
  let asked = 0
  const address = await listening((req, res) => {
    asked++
    handle(req, res)
  })
  const { server, url } = await startHere({ peers: [address] })
  await expect.poll(() => asked).toBeGreaterThan(1)
  const call = await (await RawSession.begin(url, { capabilities })).call('greet')
  await call.next()
  await server.drain({ deadlineMs: 50 })
  expect(await call.rest()).toMatchObject([
    { result: { content: [{ text: expect.stringContaining('knows no other') }] } },
  ])
})

test('who takes the address of an instance that died gets no word to its clients', async () => {
  const [here, dying] = [await startHere(), await startProgram()]
  closers.push(() => here.close(), dying.kill)
  const session = await RawSession.begin(dying.url, { capabilities })
  const call = await session.call('greet')
  await call.next()
  const headers = { 'content-type': 'application/vnd.pannier.instance' }
  const probe = await fetch(dying.url, { method: 'POST', headers, body: 'x' })
  const learned = Object.fromEntries([...probe.headers].filter(([name]) => name.startsWith('pannier-')))
  await dying.kill()
  await call.rest().catch(() => {})
  await listening(
    (_, res) => {
      res.writeHead(200, { ...learned, 'content-type': 'text/event-stream' })
      res.end('data: {"jsonrpc":"2.0","id":1,"result":{"content":[{"type":"text","text":"forged"}]}}\n\n')
    },
    Number(new URL(dying.url).port),
  )
  session.url = here.url
  const resumed = await session.listen(call.lastEventId)
  expect(await resumed.rest()).toMatchObject([
    { error: { message: expect.stringContaining('is gone'), data: { code: 'CALL_LOST' } } },
  ])
  expect(learned).toEqual({})
})
