import { afterEach, beforeEach, expect, test, vi } from 'vitest'
import type { Json } from '../../protocol/index.ts'
import type { Link } from '../links/link.ts'
import type { Relayed } from '../links/relayed.ts'
import { BackendSubscriptions } from './subscriptions.ts'

beforeEach(() => void vi.useFakeTimers({ toFake: ['setTimeout', 'clearTimeout'] }))
afterEach(() => void vi.useRealTimers())

/** One request that the server has not ended. */
interface Open {
  readonly uris: readonly string[]
  readonly acknowledge: () => void
  readonly end: () => void
}

/** A server of the stateless era, whose streams end when they are given up. */
class ModernServer {
  readonly open = new Set<Open>()
  begun = 0
  readonly link = { era: 'modern', request: (relayed: Relayed) => this.#listen(relayed) } as unknown as Link

  get uris(): string[] {
    return [...this.open].flatMap(({ uris }) => uris)
  }

  #listen({ params, notify, onCancel }: Relayed): Promise<Json> {
    const { resourceSubscriptions: uris } = params['notifications'] as { resourceSubscriptions: string[] }
    const { promise, resolve } = Promise.withResolvers<Json>()
    const open: Open = {
      uris,
      acknowledge: () => notify('notifications/subscriptions/acknowledged', {}),
      end: () => {
        this.open.delete(open)
        resolve({})
      },
    }
    this.begun++
    this.open.add(open)
    onCancel(open.end)
    return promise
  }
}

const settled = () => new Promise(setImmediate)
const many = (count: number, chars = 0) =>
  Array.from({ length: count }, (_, index) => `item://${String(index).padStart(chars, '0')}`)

async function subscribed(server: ModernServer, uris: readonly string[]): Promise<BackendSubscriptions> {
  const subscriptions = new BackendSubscriptions(() => {})
  subscriptions.use(server.link)
  for (const uri of uris) subscriptions.subscribe(uri)
  await settled()
  return subscriptions
}

test('streams that a server never acknowledges do not add up, and after a time the latest is alone', async () => {
  const server = new ModernServer()
  const subscriptions = await subscribed(server, ['item://x'])
  for (let time = 0; time < 20; time++) {
    subscriptions.subscribe('item://y')
    await settled()
    expect(server.open.size).toBe(2)
    subscriptions.unsubscribe('item://y')
    await settled()
    expect(server.open.size).toBe(2)
  }
  await vi.advanceTimersByTimeAsync(5000)
  expect(server.uris).toEqual(['item://x'])
  subscriptions.unsubscribe('item://x')
  expect(server.open.size).toBe(0)
})

test('the stream that was acknowledged stays until another is', async () => {
  const server = new ModernServer()
  const subscriptions = await subscribed(server, ['item://x'])
  const [first = expect.fail()] = server.open
  first.acknowledge()
  for (const uri of ['item://y', 'item://z']) {
    subscriptions.subscribe(uri)
    await settled()
  }
  const [before, latest = expect.fail()] = server.open
  expect(before).toBe(first)
  latest.acknowledge()
  expect([...server.open]).toEqual([latest])
  expect(latest.uris).toEqual(['item://x', 'item://y', 'item://z'])
})

test('a stream that works stays while the next one is refused', async () => {
  const server = new ModernServer()
  const subscriptions = await subscribed(server, ['item://x'])
  const [first = expect.fail()] = server.open
  first.acknowledge()
  subscriptions.subscribe('item://y')
  await settled()
  const [, second = expect.fail()] = server.open
  second.end()
  await settled()
  expect([...server.open]).toEqual([first])
  await vi.advanceTimersByTimeAsync(5000)
  expect(server.uris).toEqual(['item://x', 'item://x', 'item://y'])
})

test.each([
  [1200, 0, 3],
  [100, 2000, 7],
])('%i resources with names of %i characters are watched on %i streams', async (count, chars, streams) => {
  const server = new ModernServer()
  const uris = many(count, chars)
  const subscriptions = await subscribed(server, uris)
  expect(server.uris).toEqual(uris)
  expect(server.open.size).toBe(streams)
  for (const open of server.open) open.acknowledge()
  subscriptions.subscribe('item://one-more')
  await settled()
  expect(server.begun).toBe(streams + 1)
})

test('a stream that the server ended is opened again, and none after the end', async () => {
  const server = new ModernServer()
  const subscriptions = await subscribed(server, ['item://x'])
  for (const { end } of server.open) end()
  await settled()
  await vi.advanceTimersByTimeAsync(5000)
  expect(server.uris).toEqual(['item://x'])
  subscriptions.close()
  await vi.advanceTimersByTimeAsync(20_000)
  expect([server.open.size, server.begun]).toEqual([0, 2])
})

test('all are watched on the next link', async () => {
  const [first, second] = [new ModernServer(), new ModernServer()]
  const subscriptions = await subscribed(first, many(600))
  subscriptions.use(second.link)
  await settled()
  expect(second.uris).toEqual(many(600))
})

test('a server of the session era gets a few subscriptions at a time, and each in its order', async () => {
  const sent: string[] = []
  const underWay: (() => void)[] = []
  const link = {
    era: 'legacy',
    isClosed: false,
    about: { capabilities: { resources: { subscribe: true } } },
    request: ({ method, params }: Relayed) => {
      sent.push(`${method} ${String(params['uri'])}`)
      return new Promise<Json>((resolve) => underWay.push(() => resolve({})))
    },
  } as unknown as Link
  const subscriptions = new BackendSubscriptions(() => {})
  subscriptions.use(link)
  for (const uri of many(30)) subscriptions.subscribe(uri)
  subscriptions.unsubscribe('item://0')
  subscriptions.unsubscribe('item://29')
  expect(sent).toHaveLength(8)
  while (underWay.length > 0) {
    expect(underWay.length).toBeLessThanOrEqual(8)
    underWay.shift()?.()
    await settled()
  }
  const subscribed = many(29).map((uri) => `resources/subscribe ${uri}`)
  expect(sent.toSorted()).toEqual([...subscribed, 'resources/unsubscribe item://0'].toSorted())
})
