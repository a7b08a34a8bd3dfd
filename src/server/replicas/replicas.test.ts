import { createServer, type RequestListener } from 'node:http'
import { once } from 'node:events'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Json } from '../../protocol/index.ts'
import { createKeyring, createSealer, newKey } from '../../state/index.ts'
import { NodeSink } from '../http/node.ts'
import { Self } from './instance.ts'
import { INSTANCE_HEADER, Messenger } from './messenger.ts'
import { Replicas } from './replicas.ts'

const sealer = createSealer({ keyring: createKeyring(newKey()), audience: 'test' })
const logger = () => ({ debug() {}, info() {}, warn() {}, error() {} })

const options = { sealer, addresses: undefined, bus: undefined, ledger: undefined, clock: Date.now, logger }

/** What an instance posts to another. */
async function posted(to: Replicas, message: Json): Promise<string> {
  let body = ''
  const post: typeof fetch = async (_, init) => {
    body = init?.body as string
    return new Response(null, { headers: { [INSTANCE_HEADER]: to.self.id } })
  }
  await new Messenger({ self: new Self('http://a/mcp'), sealer, clock: Date.now, fetch: post }).send(to.self, message)
  return body
}

test.each([
  ['takes over what an instance that waits hands to it', false, 1],
  ['takes nothing over from one that has gone on to another meanwhile', true, 0],
])('an instance that was frozen %s', async (_, disconnected, times) => {
  const replicas = new Replicas({ ...options, advertise: 'http://b/mcp' })
  const adopt = vi.fn(() => true)
  replicas.adopt = adopt
  const sink = { disconnected: false, setHeaders() {}, open() {}, write() {}, end() {}, onDisconnect() {} }
  const received = replicas.receive(await posted(replicas, { kind: 'adopt', stream: {} }), sink)
  sink.disconnected = disconnected // a process that wakes reads the message first, and then that its sender is gone
  await received
  expect(adopt).toHaveBeenCalledTimes(times)
})

test('an instance whose every turn of the event loop is slow takes nothing over from one that has gone on to another', async () => {
  const replicas = new Replicas({ ...options, advertise: 'http://b/mcp' })
  const adopt = vi.fn(() => true)
  replicas.adopt = adopt
  const replied = Promise.withResolvers<unknown>()
  const server = createServer((req, res) => {
    replied.resolve(text(req).then((body) => replicas.receive(body, new NodeSink(res))))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  const message = await posted(replicas, { kind: 'adopt', stream: {} })
  const sender = connect((server.address() as AddressInfo).port, '127.0.0.1')
  await once(sender, 'connect')
  sender.end(`POST / HTTP/1.1\r\nhost: b\r\ncontent-length: ${message.length}\r\n\r\n${message}`)
  let isSlow = true
  const spin = (): void => {
    for (const until = performance.now() + 30; performance.now() < until; );
    if (isSlow) setImmediate(spin)
  }
  spin()
  await replied.promise
  isSlow = false
  expect(adopt).not.toHaveBeenCalled()
})

test('a stop goes on where the instance that is to take a call dies while it replies', async () => {
  const replicas = new Replicas({ ...options, advertise: 'http://127.0.0.1:1/mcp' })
  const start = async (listener: RequestListener): Promise<string> => {
    const server = createServer(listener)
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
  }
  const next = await start((_, res) => {
    res.writeHead(200, { [INSTANCE_HEADER]: 'next', connection: 'close' }).end('{"isAdopted":true}')
  })
  const dying = await start((_, res) => {
    replicas.peers.note({ id: 'next', url: next })
    res.writeHead(200, { [INSTANCE_HEADER]: 'dying', 'content-length': '100' })
    res.write('{')
    setTimeout(() => res.destroy(), 10)
  })
  replicas.peers.note({ id: 'dying', url: dying })
  expect(await replicas.handOver({})).toMatchObject({ id: 'next' })
})

test('an instance that never knew another has nobody to hand anything to, and does not wait for one', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  expect(await new Replicas({ ...options, advertise: 'http://127.0.0.1:1/mcp' }).handOver({})).toBeUndefined()
})
