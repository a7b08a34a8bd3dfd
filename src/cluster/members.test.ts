import { randomBytes } from 'node:crypto'
import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { createKeyring, createSealer, newKey } from '../state/index.ts'
import type { ClusterEvent } from './events.ts'
import { Forwarding } from './forward.ts'
import { MemberHeartbeat } from './heartbeat.ts'
import { Self } from './instance.ts'
import { INSTANCE_HEADER, MAX_MESSAGE_BYTES, Messenger } from './messenger.ts'
import { Members } from './members.ts'
import { Discovery } from './discovery.ts'
import { NAMED_WITHIN_MS } from './times.ts'

const logger = () => ({ debug() {}, info() {}, warn() {}, error() {} })
const keyring = createKeyring(newKey())

type Started = ReturnType<Network['start']>

/** What members publish, with what is published here. */
function busOf(members: Members) {
  const listeners = new Set<(event: ClusterEvent) => void>()
  const hear = (event: ClusterEvent): void => {
    for (const listener of listeners) listener(event)
  }
  const publish = (event: ClusterEvent): void => {
    hear(event)
    members.publish(event)
  }
  return { hear, publish, subscribe: (listener: (event: ClusterEvent) => void) => void listeners.add(listener) }
}

/** Instances that reach each other by a made-up network. */
class Network {
  readonly handlers = new Map<
    string,
    (pass: string, body: string, signal: AbortSignal) => Response | Promise<Response>
  >()
  sent = 0

  readonly fetch: typeof fetch = async (url, init) => {
    this.sent++
    const handler = this.handlers.get(url as string)
    if (handler === undefined) throw new TypeError('fetch failed', { cause: { code: 'ECONNREFUSED' } })
    return handler(new Headers(init?.headers).get(INSTANCE_HEADER)!, init?.body as string, init!.signal!)
  }

  start(name: string, clock = Date.now, keys = keyring) {
    const self = new Self(`http://${name}/mcp`)
    const sealer = createSealer({ keyring: keys, audience: 'test', clock, maxBytes: MAX_MESSAGE_BYTES })
    const messenger = new Messenger({ self, sealer, clock, fetch: this.fetch })
    const members = new Members({ self, messenger, clock, logger })
    const bus = busOf(members)
    const heard: ClusterEvent[] = []
    bus.subscribe((event) => heard.push(event))
    this.handlers.set(self.url!, (pass, body) => {
      const refusal = messenger.refusalOf(pass)
      if (refusal !== undefined) return new Response(null, { status: 409, headers: refusal })
      const { id, from, message } = messenger.open(body)
      const reply = message['kind'] === 'hello' ? members.greeted(from, message['wasLost'] === true) : {}
      if (message['kind'] === 'events') for (const event of message['events'] as ClusterEvent[]) bus.hear(event)
      return Response.json(reply, { headers: { [INSTANCE_HEADER]: id } })
    })
    return { self, messenger, members, bus, heard, stop: () => this.handlers.delete(self.url!) }
  }
}

const changed: ClusterEvent = { kind: 'changed', list: 'tools' }

test('instances that each met one of them know all of them, and hear what any of them publishes', async () => {
  const network = new Network()
  const [a, b, c, d] = ['a', 'b', 'c', 'd'].map((name) => network.start(name))
  for (const other of [b!, c!, d!]) other.members.meet(a!.self)
  await Promise.all([b!, c!, d!].map(({ members }) => members.all()))
  d!.bus.publish(changed)
  await expect.poll(() => [a, b, c, d].map((each) => each!.heard.length)).toEqual([1, 1, 1, 1])
})

test('an event that is published while its way is being found goes there, too', async () => {
  const network = new Network()
  const [a, b, c] = ['a', 'b', 'c'].map((name) => network.start(name))
  b!.members.meet(a!.self)
  await b!.members.all()
  c!.members.meet(a!.self)
  c!.bus.publish(changed)
  await expect.poll(() => [a!.heard.length, b!.heard.length]).toEqual([1, 1])
})

test('an instance that is gone is forgotten, and not asked again by each old session id', async () => {
  let now = 0
  const network = new Network()
  const a = network.start('a', () => now)
  const b = network.start('b', () => now)
  a.members.meet(b.self)
  expect(await a.members.all()).toHaveLength(1)
  b.stop()
  a.bus.publish(changed)
  await expect.poll(() => a.members.all()).toEqual([])
  const { sent } = network
  a.members.meet(b.self)
  expect([await a.members.all(), network.sent]).toEqual([[], sent])
  now += 61_000
  a.members.meet(b.self)
  await a.members.all()
  expect(network.sent).toBe(sent + 1)
})

test('a process that was started anew at the address of one that is gone is met', async () => {
  const network = new Network()
  const a = network.start('a')
  const before = network.start('b')
  before.stop()
  const after = network.start('b')
  a.members.meet(before.self)
  expect((await a.members.all()).map(({ id }) => id)).toEqual([after.self.id])
})

test('a server with other keys at the address of one that is gone is never met, however often it is asked', async () => {
  let now = 0
  const network = new Network()
  const a = network.start('a', () => now)
  const before = network.start('b', () => now)
  network.start('b', () => now, createKeyring(newKey()))
  for (let n = 0; n < 3; n++) {
    const { sent } = network
    a.members.meet(before.self)
    expect([await a.members.all(), network.sent]).toEqual([[], sent + 1])
    now += 61_000
  }
})

test('instances that only old tokens name, and that do not answer, are waited for a moment at most, and told nobody', async () => {
  const network = new Network()
  const [a, b, c] = ['a', 'b', 'c'].map((name) => network.start(name))
  a!.members.meet(b!.self)
  await a!.members.all()
  let asked = 0
  for (let n = 0; n < 6; n++) {
    const gone = new Self(`http://gone-${n}/mcp`)
    network.handlers.set(gone.url!, () => {
      asked++
      return new Promise(() => {}) // packets to this address vanish
    })
    a!.members.meet(gone)
  }
  a!.bus.publish(changed)
  const began = performance.now()
  expect([await a!.members.all(), a!.members.known()]).toEqual([[b!.self], [b!.self]])
  await a!.members.flush()
  expect(performance.now() - began).toBeLessThan(4000)
  const before = asked
  c!.members.meet(a!.self)
  expect([(await c!.members.all()).length, asked]).toEqual([2, before])
}, 10_000)

test('an instance that another one told of is waited for until it answers', async () => {
  const network = new Network()
  const [a, b, c] = ['a', 'b', 'c'].map((name) => network.start(name))
  a!.members.meet(b!.self)
  await a!.members.all()
  const answer = network.handlers.get(b!.self.url!)!
  const [asked, released] = [Promise.withResolvers<void>(), Promise.withResolvers<void>()]
  network.handlers.set(b!.self.url!, async (...args) => {
    asked.resolve()
    await released.promise
    return answer(...args)
  })
  vi.useFakeTimers({ toFake: ['setTimeout'] })
  onTestFinished(() => void vi.useRealTimers())
  c!.members.meet(a!.self)
  const all = c!.members.all()
  await asked.promise
  await vi.advanceTimersByTimeAsync(2 * NAMED_WITHIN_MS)
  released.resolve()
  expect(await all).toHaveLength(2)
})

test('what is forwarded to an instance that was silent a moment ago waits for a second at most, and finds it again', async () => {
  const network = new Network()
  const [a, b] = [network.start('a'), network.start('b')]
  const forwarding = new Forwarding(a.messenger, a.members)
  const answer = network.handlers.get(b.self.url!)!
  network.handlers.set(b.self.url!, (_pass, _body, signal) => {
    return new Promise((_, reject) => signal.addEventListener('abort', () => reject(new Error('aborted'))))
  })
  a.members.lose(b.self)
  const began = performance.now()
  expect(await forwarding.forward(b.self, {})).toMatchObject({ kind: 'silent' })
  expect(performance.now() - began).toBeLessThan(4000)
  network.handlers.set(b.self.url!, answer)
  expect(await forwarding.forward(b.self, {})).toMatchObject({ kind: 'answered' })
  expect(await a.members.all()).toEqual([b.self])
})

test('many events while one message is under way go together', async () => {
  const network = new Network()
  const [a, b] = [network.start('a'), network.start('b')]
  a.members.meet(b.self)
  await a.members.all()
  const { sent } = network
  for (let n = 0; n < 1000; n++) a.bus.publish(changed)
  await expect.poll(() => b.heard.length).toBe(1000)
  expect(network.sent - sent).toBeLessThan(20)
})

/** What a client can make an instance publish. */
const cancelled = (chars: number): ClusterEvent => ({
  kind: 'cancelled',
  session: 's',
  request: randomBytes(chars / 2).toString('hex'),
})

test('events that a client makes as large as it can do not part instances', async () => {
  const network = new Network()
  const [a, b] = [network.start('a'), network.start('b')]
  a.members.meet(b.self)
  await a.members.all()
  const largest = cancelled(4_000_000)
  for (let n = 0; n < 10; n++) a.bus.publish(largest)
  for (let n = 0; n < 30; n++) a.bus.publish(cancelled(90_000))
  a.bus.publish(changed)
  await expect.poll(() => b.heard.at(-1)).toEqual(changed)
  expect([b.heard.length, await a.members.all()]).toEqual([31, [expect.objectContaining({ id: b.self.id })]])
})

test('events that nobody can take yet are dropped, oldest first', async () => {
  const network = new Network()
  const [a, b] = [network.start('a'), network.start('b')]
  a.members.meet(b.self)
  for (let n = 0; n < 300; n++) a.bus.publish(cancelled(90_000))
  a.bus.publish(changed)
  await expect.poll(() => b.heard.at(-1)).toEqual(changed)
  expect(b.heard.length).toBeLessThan(180)
})

test('an event reaches an instance that is met a moment later', async () => {
  const network = new Network()
  const [a, b] = [network.start('a'), network.start('b')]
  a.bus.publish(changed)
  b.members.meet(a.self) // only now does a hear of b
  await expect.poll(() => b.heard).toEqual([changed])
})

test('cancellations of the last seconds can be asked for, by an instance that nobody reaches', () => {
  const { bus, members } = new Network().start('a')
  bus.publish(changed)
  bus.publish({ kind: 'cancelled', session: 's', request: 1 })
  expect(members.recent(new Set(['cancelled']))).toEqual([{ kind: 'cancelled', session: 's', request: 1 }])
})

test('an event of a while ago does not reach an instance that is met now', async () => {
  let now = 0
  const network = new Network()
  const a = network.start('a', () => now)
  const b = network.start('b', () => now)
  a.bus.publish(changed)
  now += 5001
  b.members.meet(a.self)
  await b.members.all()
  a.bus.publish({ kind: 'updated', uri: 'x:' })
  await expect.poll(() => b.heard).toEqual([{ kind: 'updated', uri: 'x:' }])
})

describe('an instance that is gone', () => {
  function watched(network: Network) {
    const here = network.start('here')
    const crashed = vi.fn()
    const vacated = vi.fn()
    here.members.listen({ crashed, vacated })
    return { ...here, crashed, vacated }
  }

  test('has crashed when it was there and did not say goodbye; its address is looked at again', async () => {
    const network = new Network()
    const { members, crashed, vacated } = watched(network)
    const b = network.start('b')
    members.meet(b.self)
    await members.all()
    b.stop()
    expect([await members.check(b.self.id), crashed.mock.calls.length, vacated.mock.calls]).toEqual([
      false,
      1,
      [[b.self.url]],
    ])
  })

  test('has not crashed when it said goodbye, nor when it was never there', async () => {
    const network = new Network()
    const { members, crashed, vacated } = watched(network)
    const [b, c] = [network.start('b'), network.start('c')]
    c.stop()
    members.meet(b.self)
    members.meet(c.self)
    await members.all()
    members.left(b.self)
    b.stop()
    expect([await members.all(), crashed.mock.calls, vacated.mock.calls]).toEqual([[], [], [[b.self.url]]])
  })

  test.each([
    ['by its ping', undefined],
    ['by a message that did not arrive', (watcher: Members, gone: Self) => watcher.lose(gone)],
  ])('is noticed %s by the one that looks after it, and the others look for themselves', async (_, notice) => {
    const network = new Network()
    const all = ['a', 'b', 'c', 'd'].map((name) => network.start(name))
    for (const { members } of all) for (const { self } of all) members.meet(self)
    await Promise.all(all.map(({ members }) => members.all()))
    const crashed = vi.fn()
    const beats = all.map(({ self, members, bus }) => {
      members.listen({ crashed })
      const heartbeat = new MemberHeartbeat({ self, members, everyMs: 20 })
      bus.subscribe((event) => heartbeat.hear(event))
      heartbeat.start()
      return heartbeat
    })
    onTestFinished(() => beats.forEach((beat) => beat.stop()))
    const [watcher, gone] = all.toSorted((one, other) => (one.self.id < other.self.id ? -1 : 1))
    beats[all.indexOf(gone!)]!.stop()
    gone!.stop()
    notice?.(watcher!.members, gone!.self)
    await expect.poll(() => crashed.mock.calls.length).toBe(3)
  })

  test('is noticed by a new instance that should look after it, and only hears its name', async () => {
    const network = new Network()
    const [watcher, gone, other] = ['a', 'b', 'c']
      .map((name) => network.start(name))
      .toSorted((one, another) => (one.self.id < another.self.id ? -1 : 1)) as [Started, Started, Started]
    other.members.note(gone.self)
    gone.stop()
    const crashed = vi.fn()
    other.members.listen({ crashed })
    for (const { self, members, bus } of [watcher, other]) {
      const heartbeat = new MemberHeartbeat({ self, members })
      bus.subscribe((event) => heartbeat.hear(event))
    }
    watcher.members.meet(other.self)
    await expect.poll(() => crashed.mock.calls.length).toBe(1)
  })
})

describe('the address of an instance that is gone', () => {
  test('is looked at until another one is there', async () => {
    const network = new Network()
    const { self, members, messenger } = network.start('here')
    const discovery = new Discovery({ self, members, messenger, logger })
    onTestFinished(() => discovery.stop())
    void discovery.seek('http://b/mcp')
    await expect.poll(() => network.sent).toBeGreaterThan(1)
    const b = network.start('b')
    await expect.poll(() => members.known().map(({ id }) => id)).toEqual([b.self.id])
    const { sent } = network
    void discovery.seek('http://b/mcp') // it is known
    await new Promise((resolve) => setImmediate(resolve))
    expect(network.sent).toBe(sent)
  })

  test('is not taken for that of the one that still answers there while it ends', async () => {
    const network = new Network()
    const { self, members, messenger } = network.start('here')
    const b = network.start('b')
    members.note(b.self)
    members.left(b.self)
    const discovery = new Discovery({ self, members, messenger, logger })
    onTestFinished(() => discovery.stop())
    void discovery.seek('http://b/mcp')
    await expect.poll(() => network.sent).toBeGreaterThan(1)
    expect(members.known()).toEqual([])
  })

  test('one that was silent for a while is met again as soon as it answers, and one that said goodbye is not', async () => {
    const network = new Network()
    const [a, b] = [network.start('a'), network.start('b')]
    const discovery = new Discovery({ ...a, logger })
    onTestFinished(() => discovery.stop())
    a.members.listen({ vacated: (url) => void discovery.seek(url) })
    a.members.note(b.self)
    a.members.lose(b.self) // it was frozen, and did not answer in time
    a.members.meet(b.self) // an old session id names it
    expect(a.members.known()).toEqual([])
    await vi.waitFor(() => expect(a.members.known()).toMatchObject([{ id: b.self.id }]))
    a.members.left(b.self)
    const { sent } = network
    await vi.waitFor(() => expect(network.sent).toBeGreaterThan(sent + 1))
    expect(a.members.known()).toEqual([])
  })

  test.each([
    ['sends a message', (here: Members, there: Self) => here.note(there)],
    ['answers at its address', (here: Members, there: Self) => here.meetAgain(there)],
  ])('one that was taken for gone and %s is told so, once', async (_, comeBack) => {
    const network = new Network()
    const [a, b] = [network.start('a'), network.start('b')]
    const doubted = vi.fn<() => void>()
    b.members.listen({ doubted })
    a.members.meet(b.self)
    await a.members.all()
    expect(doubted).not.toHaveBeenCalled()
    a.members.lose(b.self)
    comeBack(a.members, b.self)
    await vi.waitFor(() => expect(doubted).toHaveBeenCalledTimes(1))
    expect(await a.members.check(b.self.id)).toBe(true)
    expect(doubted).toHaveBeenCalledTimes(1)
  })

  test('one that is being stopped is not missed like one that was killed, however often it is found to be gone', async () => {
    const network = new Network()
    const [a, b] = [network.start('a'), network.start('b')]
    const crashed = vi.fn<() => void>()
    a.members.listen({ crashed })
    a.members.stopping(b.self)
    expect(await a.members.staying()).toEqual([])
    expect(a.members.known()).toMatchObject([{ id: b.self.id }])
    b.stop()
    a.members.lose(b.self)
    a.members.lose(b.self) // by a client that comes back to one of its streams
    a.members.note(b.self) // it has sent something before it ends
    a.members.lose(b.self)
    expect(crashed).not.toHaveBeenCalled()
    expect(a.members.known()).toEqual([])
  })

  test('one that is greeted while it is being stopped says so', async () => {
    const network = new Network()
    const [a, b] = [network.start('a'), network.start('b')]
    b.members.isStopping = true
    a.members.meet(b.self)
    expect(await a.members.staying()).toEqual([])
  })

  test('one that is met is told what every instance has to know', async () => {
    const network = new Network()
    const [a, b] = [network.start('a'), network.start('b')]
    const standing: ClusterEvent = { kind: 'session-ended', session: 's', expiresAt: 1 }
    a.members.listen({ standing: () => [standing] })
    a.members.meet(b.self)
    await expect.poll(() => b.heard).toContainEqual(standing)
  })
})
