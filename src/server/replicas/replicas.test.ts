import { once } from 'node:events'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { expect, onTestFinished, test, vi } from 'vitest'
import type { Json } from '../../protocol/index.ts'
import { createKeyring, createSealer, newKey } from '../../state/index.ts'
import { NodeSink } from '../http/nodeSink.ts'
import { movedReply } from './forwarder.ts'
import { Self } from './instance.ts'
import { INSTANCE_HEADER, Messenger } from './messenger.ts'
import { Replicas } from './replicas.ts'

const sealer = createSealer({ keyring: createKeyring(newKey()), audience: 'test' })
const logger = () => ({ debug() {}, info() {}, warn() {}, error() {} })

const options = { sealer, addresses: undefined, bus: undefined, ledger: undefined, clock: Date.now, logger }

/** What an instance posts to another. */
async function posted(to: Replicas, message: Json): Promise<string> {
  let token = ''
  const post: typeof fetch = async (_, init) => {
    token = init?.body as string
    return new Response(null)
  }
  await new Messenger({ self: new Self('http://a/mcp'), sealer, clock: Date.now, fetch: post }).send(to.self, message)
  return token
}

test.each([
  ['takes over what an instance that waits hands to it', false, 1],
  ['takes nothing over from one that has gone on to another meanwhile', true, 0],
])('an instance that was frozen %s', async (_, disconnected, times) => {
  const replicas = new Replicas({ ...options, advertise: 'http://b/mcp' })
  const adopt = vi.fn(() => true)
  replicas.messages.adopt = adopt
  const sink = { disconnected: false, setHeaders() {}, open() {}, write() {}, end() {}, onDisconnect() {} }
  const received = replicas.messages.receive(await posted(replicas, { kind: 'adopt', stream: {} }), sink)
  sink.disconnected = disconnected // a process that wakes reads the message first, and then that its sender is gone
  await received
  expect(adopt).toHaveBeenCalledTimes(times)
})

test('an instance whose every turn of the event loop is slow takes nothing over from one that has gone on to another', async () => {
  const replicas = new Replicas({ ...options, advertise: 'http://b/mcp' })
  const adopt = vi.fn(() => true)
  replicas.messages.adopt = adopt
  const replied = Promise.withResolvers<unknown>()
  const server = createServer((req, res) => {
    replied.resolve(text(req).then((body) => replicas.messages.receive(body, new NodeSink(res))))
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

test('an instance that has left keeps no timer, so that its process can end', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const replicas = new Replicas({ ...options, advertise: 'http://b/mcp' })
  await replicas.sayStopping()
  await replicas.leave()
  expect(vi.getTimerCount()).toBe(0)
})

async function listening(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
}

/** An instance that opens each message, and then replies as told, with the header that proves it. */
async function instance(reply: (res: ServerResponse, proof: Record<string, string>) => void): Promise<Self> {
  const self = new Self()
  const messenger = new Messenger({ self, sealer, clock: Date.now })
  self.url = await listening((req, res) => {
    void text(req).then((token) => reply(res, { [INSTANCE_HEADER]: messenger.open(token).id }))
  })
  return self
}

test('a stop goes on where the instance that is to take a call dies while it replies', async () => {
  const replicas = new Replicas({ ...options, advertise: 'http://127.0.0.1:1/mcp' })
  const next = await instance((res, proof) => {
    res.writeHead(200, { ...proof, connection: 'close' }).end('{"isAdopted":true}')
  })
  const dying = await instance((res, proof) => {
    replicas.peers.note(next)
    res.writeHead(200, { ...proof, 'content-length': '100' })
    res.write('{')
    setTimeout(() => res.destroy(), 10)
  })
  replicas.peers.note(dying)
  expect(await replicas.successors.handOver({})).toMatchObject({ id: next.id })
})

test('whoever answers at the address of an instance that is gone, without a key, is believed nothing', async () => {
  const replicas = new Replicas({ ...options, advertise: 'http://127.0.0.1:1/mcp' })
  const heard = vi.fn()
  replicas.bus.subscribe(heard)
  const gone = new Self()
  const elsewhere = vi.fn<RequestListener>((_, res) => void res.end())
  const told = [['zz', await listening(elsewhere)]]
  for (const name of [gone.id, '-']) {
    gone.url = await listening((_, res) => {
      res.writeHead(200, { [INSTANCE_HEADER]: name, 'pannier-address': told[0]![1]! })
      res.end(JSON.stringify({ peers: told, has: true, isAdopted: true, state: 'done', events: [{ kind: 'x' }] }))
    })
    const { peers } = replicas
    peers.meetAgain(gone)
    const sink = { disconnected: false, setHeaders() {}, open() {}, write() {}, end() {}, onDisconnect() {} }
    const request = { method: 'POST', header: () => undefined, principal: undefined, gone: new Set<string>() } as const
    expect([await peers.all(), peers.known(), await replicas.whoHas('stream')]).toEqual([[], [], 'unsure'])
    expect(await replicas.forwarder.forward(gone, request, sink)).toMatchObject({ kind: 'gone' })
    expect(await replicas.ledger.claim(name, 60)).toEqual({ state: 'fresh' })
  }
  expect([heard, elsewhere].map(({ mock }) => mock.calls)).toEqual([[], []])
})

test('a claim that the instance which keeps them does not take is an error, and that instance is still there', async () => {
  const replicas = new Replicas({ ...options, advertise: 'http://127.0.0.1:1/mcp' })
  const keeper = await instance((res, proof) => res.writeHead(500, proof).end('{"error":{"code":-32603}}'))
  vi.spyOn(keeper, 'id', 'get').mockReturnValue('-') // the least of all
  replicas.peers.note(keeper)
  await expect(replicas.ledger.claim('c', 60)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
  expect(replicas.peers.known()).toEqual([keeper])
})

test('an instance that never knew another has nobody to hand anything to, and does not wait for one', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  expect(
    await new Replicas({ ...options, advertise: 'http://127.0.0.1:1/mcp' }).successors.handOver({}),
  ).toBeUndefined()
})

/** An instance at an address of its own. */
async function served(addresses: readonly string[] = []): Promise<Replicas> {
  const replicas = new Replicas({ ...options, advertise: undefined, addresses })
  replicas.self.url = await listening((req, res) => {
    const pass = req.headers[INSTANCE_HEADER] as string
    const refused = replicas.messages.refusalOf(() => pass)
    const reply = async () => refused ?? replicas.messages.receive(await text(req), new NodeSink(res))
    void reply().then((answer) => res.writeHead(answer?.status ?? 500, answer?.headers).end(answer?.body))
  })
  onTestFinished(() => replicas.leave())
  return replicas
}

test.each([
  ['PANNIER_PEERS', 'http://10.0.0.7:3000/mcp,foo'],
  ['PANNIER_PEERS', ','],
  ['PANNIER_ADVERTISE', 'foo'],
])('a wrong %s is told by its name, with the form that it has', (variable, value) => {
  vi.stubEnv(variable, value)
  onTestFinished(() => void vi.unstubAllEnvs())
  const sentence = new RegExp(`^${variable} must be .* such as "http://10\\.0\\.0\\.7:3000/mcp"`)
  expect(() => new Replicas({ ...options, advertise: undefined })).toThrow(sentence)
})

test('wrong addresses in options are told by the names of the options', () => {
  expect(() => new Replicas({ ...options, advertise: 'foo' })).toThrow(/^The option "advertise" must be/)
  expect(() => new Replicas({ ...options, advertise: undefined, addresses: ['foo'] })).toThrow(
    /^The option "peers" must/,
  )
})

test('an instance that has sought others is known to them before it serves anybody', async () => {
  const first = await served()
  const second = await served([first.self.url ?? ''])
  await second.seek()
  expect(first.peers.known().map(({ id }) => id)).toEqual([second.self.id])
})

test('an address at which nobody answers does not keep an instance from serving', async () => {
  const silent = await listening(() => {})
  const began = performance.now()
  await (await served([silent])).seek()
  expect(performance.now() - began).toBeLessThan(2400) // a message is waited for longer
})

test('an instance that knew others looks for one every so often, and gives up in the end', async () => {
  vi.useFakeTimers()
  onTestFinished(() => void vi.useRealTimers())
  const replicas = new Replicas({ ...options, advertise: 'http://127.0.0.1:1/mcp' })
  vi.spyOn(replicas.peers, 'everMet', 'get').mockReturnValue(true)
  const looked = vi.spyOn(replicas.peers, 'staying').mockResolvedValue([])
  let outcome: unknown = 'waits'
  void replicas.successors.handOver({}).then((taker) => (outcome = taker))
  await vi.advanceTimersByTimeAsync(0)
  expect(looked).toHaveBeenCalledTimes(1)
  await vi.advanceTimersByTimeAsync(200)
  expect(looked.mock.calls.length).toBeLessThan(10)
  expect(outcome).toBe('waits')
  await vi.advanceTimersByTimeAsync(60_000)
  expect(outcome).toBeUndefined()
})

test('an instance that stops waits until the others have been told, though not for long', async () => {
  const replicas = new Replicas({ ...options, advertise: 'http://127.0.0.1:1/mcp' })
  const told: string[] = []
  const other = await instance((res, proof) => {
    setTimeout(() => {
      told.push('told')
      res.writeHead(200, { ...proof, connection: 'close' }).end('{}')
    }, 50)
  })
  replicas.peers.note(other)
  expect(replicas.peers.isStopping).toBe(false)
  await replicas.sayStopping()
  expect([told, replicas.peers.isStopping]).toEqual([['told'], true])
  await replicas.leave()
  expect(told).toEqual(['told', 'told'])
})

test('a cancelled call is taken note of, and the message accepted', async () => {
  const replicas = new Replicas({ ...options, advertise: 'http://b/mcp' })
  const sink = { disconnected: false, setHeaders() {}, open() {}, write() {}, end() {}, onDisconnect() {} }
  const cancelled = vi.spyOn(replicas.calls, 'cancelled')
  const reply = await replicas.messages.receive(await posted(replicas, { kind: 'call-cancelled', name: 'c' }), sink)
  expect(reply).toMatchObject({ status: 202 })
  expect(cancelled).toHaveBeenCalledWith('c')
  const unknown = await replicas.messages.receive(await posted(replicas, { kind: 'something new' }), sink)
  expect(unknown).toMatchObject({ status: 400 })
})

test('an instance says where a call went, once, and is still there for whoever asked', async () => {
  const [asking, asked] = [await served(), await served()]
  const serve = vi.fn(() => Promise.resolve(movedReply({ id: 'new', url: 'http://c/mcp' })))
  asked.messages.serve = serve
  const sink = { disconnected: false, setHeaders() {}, open() {}, write() {}, end() {}, onDisconnect() {} }
  const request = { method: 'POST', header: () => undefined, principal: undefined, gone: new Set<string>() } as const
  expect(await asking.forwarder.forward(asked.self, request, sink)).toEqual({
    kind: 'moved',
    to: { id: 'new', url: 'http://c/mcp' },
  })
  expect(serve).toHaveBeenCalledOnce()
  expect(asking.peers.isLost(asked.self.id)).toBe(false)
})

test('an address is asked once who is there', async () => {
  const first = await served()
  const refusalOf = vi.spyOn(first.messages, 'refusalOf')
  await (await served([first.self.url ?? ''])).seek()
  expect(refusalOf).toHaveBeenCalledTimes(2) // who is there, and the greeting
})
