import { once } from 'node:events'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { text } from 'node:stream/consumers'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import type { Json } from '../protocol/index.ts'
import { createKeyring, createSealer, newKey } from '../state/index.ts'
import { Cluster } from './cluster.ts'
import type { ClusterEvent } from './events.ts'
import { movedReply } from './forward.ts'
import { Self } from './instance.ts'
import { INSTANCE_HEADER, Messenger } from './messenger.ts'
import type { ClusterScope } from './scope.ts'

const sealer = createSealer({ keyring: createKeyring(newKey()), audience: 'test' })
const logger = () => ({ debug() {}, info() {}, warn() {}, error() {} })
const options = { sealer, addresses: undefined, ledger: undefined, clock: Date.now, logger }

/** A reply that is not streamed, whose sender may leave. */
function sinkOf(res: ServerResponse) {
  return {
    get disconnected() {
      return res.destroyed
    },
    setHeaders: (headers: Readonly<Record<string, string>>) => res.setHeaders(new Map(Object.entries(headers))),
    open() {},
    write() {},
    end() {},
    onDisconnect() {},
  }
}

const newSink = () => ({ disconnected: false, setHeaders() {}, open() {}, write() {}, end() {}, onDisconnect() {} })

interface Started {
  readonly cluster: Cluster
  readonly scope: ClusterScope
}

/** An instance that leaves with its test, so that nothing of it runs beside the next one. */
function started(more: { advertise: string | undefined; addresses?: readonly string[] }): Started {
  const cluster = new Cluster({ ...options, ...more })
  const scope = cluster.scope('')
  onTestFinished(() => cluster.leave(scope))
  return { cluster, scope }
}

const alone = (): Started => started({ advertise: 'http://127.0.0.1:1/mcp' })

/** What an instance posts to another. */
async function posted(to: Cluster, message: Json): Promise<string> {
  let token = ''
  const post: typeof fetch = async (_, init) => {
    token = init?.body as string
    return new Response(null)
  }
  const messenger = new Messenger({ self: new Self('http://a/mcp'), sealer, clock: Date.now, fetch: post })
  await messenger.send(to.self, { scope: '', ...message })
  return token
}

async function listening(listener: RequestListener): Promise<string> {
  const server = createServer(listener)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => void server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/mcp`
}

/** An instance that opens each message, and then replies so, with the header that proves it. */
async function instance(reply: (res: ServerResponse, proof: Record<string, string>) => void): Promise<Self> {
  const self = new Self()
  const messenger = new Messenger({ self, sealer, clock: Date.now })
  self.url = await listening((req, res) => {
    void text(req).then((token) => reply(res, { [INSTANCE_HEADER]: messenger.open(token).id }))
  })
  return self
}

/** An instance at an address of its own. */
async function served(addresses: readonly string[] = []): Promise<Started> {
  const { cluster, scope } = started({ advertise: undefined, addresses })
  cluster.self.url = await listening((req, res) => {
    const pass = req.headers[INSTANCE_HEADER] as string
    const refused = cluster.refusalOf(() => pass)
    const sink = sinkOf(res)
    const reply = async () => refused ?? cluster.receive(await text(req), sink)
    void reply().then((answer) => answer && res.writeHead(answer.status, answer.headers).end(answer.body))
  })
  return { cluster, scope }
}

/** Two instances that know each other. */
async function pair(): Promise<[Started, Started]> {
  const first = await served()
  const second = await served([first.cluster.self.url ?? ''])
  await second.cluster.seek()
  return [first, second]
}

test('a message that the network has sent twice is handled once, and its sender does not take its receiver for gone', async () => {
  const [first, second] = await pair()
  const handled = vi.fn(async () => ({ status: 202 }))
  second.scope.handle('once', handled)
  const post = fetch
  onTestFinished(() => void vi.unstubAllGlobals())
  let copies = 0
  vi.stubGlobal('fetch', async (...sent: Parameters<typeof fetch>) => {
    if (++copies === 1) await post(...sent)
    return post(...sent)
  })
  expect(await first.scope.forward(second.cluster.self, { kind: 'once' })).toMatchObject({ kind: 'answered' })
  expect(await first.scope.forward(second.cluster.self, { kind: 'once' }, { isOnce: true })).toMatchObject({
    kind: 'answered',
  })
  copies = 0
  expect(await first.scope.forward(second.cluster.self, { kind: 'once' }, { isOnce: true })).toMatchObject({
    kind: 'silent',
  })
  expect(handled).toHaveBeenCalledTimes(4)
})

describe('a hand-off', () => {
  test.each([
    ['is taken by an instance that was frozen, while its sender waits', false, 1],
    ['is not taken where its sender has turned to another instance', true, 0],
  ])('%s', async (_, disconnected, times) => {
    const { cluster, scope } = started({ advertise: 'http://b/mcp' })
    const resume = vi.fn(() => true)
    scope.handleHandOff(resume)
    const sink = newSink()
    const received = cluster.receive(await posted(cluster, { kind: 'hand-off', thing: {} }), sink)
    sink.disconnected = disconnected // a process that wakes reads the message first, and then that its sender is gone
    await received
    expect(resume).toHaveBeenCalledTimes(times)
  })

  test('is not taken from a sender that has left, also where each turn of the event loop is slow', async () => {
    const { cluster, scope } = started({ advertise: 'http://b/mcp' })
    const resume = vi.fn(() => true)
    scope.handleHandOff(resume)
    const replied = Promise.withResolvers<unknown>()
    const server = createServer((req, res) => {
      replied.resolve(text(req).then((body) => cluster.receive(body, sinkOf(res))))
    })
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
    onTestFinished(() => void server.close())
    const message = await posted(cluster, { kind: 'hand-off', thing: {} })
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
    expect(resume).not.toHaveBeenCalled()
  })

  test('goes to the next instance where the first one dies while it replies', async () => {
    const { cluster, scope } = alone()
    const next = await instance((res, proof) => {
      res.writeHead(200, { ...proof, connection: 'close' }).end('{"isTaken":true}')
    })
    const dying = await instance((res, proof) => {
      cluster.members.note(next)
      res.writeHead(200, { ...proof, 'content-length': '100' })
      res.write('{')
      setTimeout(() => res.destroy(), 10)
    })
    cluster.members.note(dying)
    expect(await scope.handOff({})).toMatchObject({ id: next.id })
  })

  test('of an instance that never knew another does not wait for one', async () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    expect(await alone().scope.handOff({})).toBeUndefined()
  })

  test('of an instance that knew others looks for one at intervals, and gives up in the end', async () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const { cluster, scope } = alone()
    vi.spyOn(cluster.members, 'everMet', 'get').mockReturnValue(true)
    const looked = vi.spyOn(cluster.members, 'staying').mockResolvedValue([])
    let outcome: unknown = 'waits'
    void scope.handOff({}).then((taker) => (outcome = taker))
    await vi.advanceTimersByTimeAsync(0)
    expect(looked).toHaveBeenCalledTimes(1)
    await vi.advanceTimersByTimeAsync(200)
    expect(looked.mock.calls.length).toBeLessThan(10)
    expect(outcome).toBe('waits')
    await vi.advanceTimersByTimeAsync(60_000)
    expect(outcome).toBeUndefined()
  })
})

describe('an instance', () => {
  test('that stops hears of new owners and cancellations, although others no longer reach it', async () => {
    const [first, second] = await pair()
    const heard = new Set<string>() // each poll brings the events of the last seconds
    second.scope.bus.subscribe((event) => void heard.add(event.kind))
    await second.cluster.announceStop()
    first.cluster.members.left(second.cluster.self)
    for (const kind of ['owner-changed', 'changed', 'cancelled']) first.scope.bus.publish({ kind })
    await expect.poll(() => [...heard]).toEqual(['owner-changed', 'cancelled'])
  })

  test('that has left keeps no timer, so that its process can end', async () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const { cluster, scope } = started({ advertise: 'http://b/mcp' })
    await cluster.announceStop()
    await cluster.leave(scope)
    expect(vi.getTimerCount()).toBe(0)
  })

  test('believes nothing that is answered without a key at the address of one that is gone', async () => {
    const { cluster, scope } = alone()
    const heard = vi.fn()
    scope.bus.subscribe(heard)
    const gone = new Self()
    const elsewhere = vi.fn<RequestListener>((_, res) => void res.end())
    const told = [['zz', await listening(elsewhere)]]
    for (const name of [gone.id, '-']) {
      gone.url = await listening((_, res) => {
        res.writeHead(200, { [INSTANCE_HEADER]: name, 'pannier-address': told[0]![1]! })
        res.end(JSON.stringify({ peers: told, owns: true, isTaken: true, state: 'done', events: [{ kind: 'x' }] }))
      })
      const { members } = cluster
      members.meetAgain(gone)
      expect([await members.all(), members.known()]).toEqual([[], []])
      expect(await scope.forward(gone, { kind: 'request' })).toMatchObject({ kind: 'silent' })
      expect(await scope.ledger.claim(name, 60)).toEqual({ state: 'fresh' })
    }
    expect([heard, elsewhere].map(({ mock }) => mock.calls)).toEqual([[], []])
  })

  test('fails a claim that the keeper of the claims does not take, and keeps that as a member', async () => {
    const { cluster } = alone()
    const keeper = await instance((res, proof) => res.writeHead(500, proof).end('{"error":{"code":-32603}}'))
    vi.spyOn(keeper, 'id', 'get').mockReturnValue('-') // the least of all
    cluster.members.note(keeper)
    await expect(cluster.scope('claims').ledger.claim('c', 60)).rejects.toMatchObject({ code: 'STORE_UNAVAILABLE' })
    expect(cluster.members.known()).toEqual([keeper])
  })

  test.each([
    ['PANNIER_PEERS', 'http://10.0.0.7:3000/mcp,foo'],
    ['PANNIER_PEERS', ','],
    ['PANNIER_ADVERTISE', 'foo'],
  ])('with a wrong %s names it, with the form that it has', (variable, value) => {
    vi.stubEnv(variable, value)
    onTestFinished(() => void vi.unstubAllEnvs())
    const sentence = new RegExp(`^${variable} must be .* such as "http://10\\.0\\.0\\.7:3000/mcp"`)
    expect(() => new Cluster({ ...options, advertise: undefined })).toThrow(sentence)
  })

  test('with wrong addresses in options names the options', () => {
    expect(() => new Cluster({ ...options, advertise: 'foo' })).toThrow(/^The option "advertise" must be/)
    expect(() => new Cluster({ ...options, advertise: undefined, addresses: ['foo'] })).toThrow(
      /^The option "peers" must/,
    )
  })

  test('that has sought others is known to them before it serves anybody', async () => {
    const [first, second] = await pair()
    expect(first.cluster.members.known().map(({ id }) => id)).toEqual([second.cluster.self.id])
  })

  test('serves although nobody answers at a configured address', async () => {
    const silent = await listening(() => {})
    const began = performance.now()
    await (await served([silent])).cluster.seek()
    expect(performance.now() - began).toBeLessThan(2400) // a message is waited for longer
  })

  test('asks an address once who is there', async () => {
    const first = await served()
    const refusalOf = vi.spyOn(first.cluster, 'refusalOf')
    await (await served([first.cluster.self.url ?? ''])).cluster.seek()
    expect(refusalOf).toHaveBeenCalledTimes(2) // who is there, and the greeting
  })

  test('that stops waits until the others have been told, though not for long', async () => {
    const { cluster, scope } = alone()
    const told: string[] = []
    const other = await instance((res, proof) => {
      setTimeout(() => {
        told.push('told')
        res.writeHead(200, { ...proof, connection: 'close' }).end('{}')
      }, 50)
    })
    cluster.members.note(other)
    expect(cluster.members.isStopping).toBe(false)
    await cluster.announceStop()
    expect([told, cluster.members.isStopping]).toEqual([['told'], true])
    await cluster.leave(scope)
    expect(told).toEqual(['told', 'told'])
  })
})

describe('a message to the owner of something', () => {
  test('comes back with where the thing went, and its receiver stays a member', async () => {
    const [asking, asked] = [await served(), await served()]
    const handler = vi.fn(() => Promise.resolve(movedReply({ id: 'new', url: 'http://c/mcp' })))
    asked.scope.handle('request', handler)
    expect(await asking.scope.forward(asked.cluster.self, { kind: 'request' })).toEqual({
      kind: 'moved',
      to: { id: 'new', url: 'http://c/mcp' },
    })
    expect(handler).toHaveBeenCalledOnce()
    expect(asking.cluster.members.isLost(asked.cluster.self.id)).toBe(false)
  })

  test('is gone where the receiver has no such handler or scope, and that stays a member', async () => {
    const [asking, asked] = await pair()
    const elsewhere = asking.cluster.scope('/mcp/other')
    onTestFinished(() => asking.cluster.leave(elsewhere))
    for (const scope of [asking.scope, elsewhere])
      expect(await scope.forward(asked.cluster.self, { kind: 'something new' })).toMatchObject({ kind: 'gone' })
    expect(asking.cluster.members.known()).toHaveLength(1)
  })

  test('is gone where no process is at the address, and silent where one does not answer', async () => {
    const { scope } = alone()
    const closed = createServer()
    await new Promise<void>((resolve) => closed.listen(0, '127.0.0.1', resolve))
    const url = `http://127.0.0.1:${(closed.address() as AddressInfo).port}/mcp`
    await new Promise((resolve) => closed.close(resolve))
    expect(await scope.forward({ id: 'x', url }, { kind: 'request' })).toMatchObject({ kind: 'gone' })
    const broken = await listening((req) => void req.socket.destroy())
    const once = { isOnce: true }
    expect(await scope.forward({ id: 'y', url: broken }, { kind: 'request' }, once)).toMatchObject({ kind: 'silent' })
  })
})

describe('scopes of one process', () => {
  test('share members and hear only their own events, and the last one that leaves says goodbye', async () => {
    const [first, second] = await pair()
    const [here, there] = [first.cluster.scope('/a'), second.cluster.scope('/a')]
    const heard: ClusterEvent[] = []
    const other: ClusterEvent[] = []
    there.bus.subscribe((event) => heard.push(event))
    second.scope.bus.subscribe((event) => other.push(event))
    here.bus.publish({ kind: 'changed', list: 'tools' })
    await expect.poll(() => heard).toMatchObject([{ kind: 'changed', list: 'tools' }])
    expect(other).toEqual([])
    await first.cluster.leave(here)
    expect(second.cluster.members.known()).toHaveLength(1)
    await first.cluster.leave(first.scope)
    expect(second.cluster.members.known()).toEqual([])
    await second.cluster.leave(there)
  })

  test('say what they own, each for itself', async () => {
    const [first, second] = await pair()
    const [here, there] = [first.cluster.scope('/a'), second.cluster.scope('/a')]
    onTestFinished(async () => void (await Promise.all([first.cluster.leave(here), second.cluster.leave(there)])))
    there.handleOwned('stream', (key) => key === 's')
    const url = second.cluster.self.url ?? ''
    const owner = { id: second.cluster.self.id }
    expect(await here.whoOwnsAt([url], 'stream', 's')).toMatchObject(owner)
    expect(await here.whoOwnsAt([url], 'stream', 't')).toBeUndefined()
    expect(await here.whoOwnsAt([url], 'caller', 's')).toBeUndefined()
    expect(await first.scope.whoOwnsAt([url], 'stream', 's')).toBeUndefined()
  })
})
