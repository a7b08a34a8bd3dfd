/** The connection of a notifier: what it is used for, and what happens when it breaks. */
import { EventEmitter } from 'node:events'
import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { Notifier } from './notifier.ts'
import type { PostgresClient, PostgresPool, PostgresQuery } from './sql.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

function messagesOf({ values = [] }: PostgresQuery): string[] {
  return values[1] as string[]
}

class FakeClient extends EventEmitter {
  readonly queries: PostgresQuery[] = []
  readonly release = vi.fn<(error?: Error | boolean) => void>()
  readonly fates: (Promise<void> | Error)[] = []

  async query(query: PostgresQuery): Promise<{ rows: unknown[] }> {
    this.queries.push(query)
    const fate = this.fates.shift()
    if (fate instanceof Error) throw fate
    await fate
    return { rows: [] }
  }

  /** The messages of each NOTIFY, without the name of their sender. */
  get sent(): string[][] {
    const notifies = this.queries.filter(({ text }) => !text.startsWith('LISTEN'))
    return notifies.map((query) => messagesOf(query).map((message) => message.replace(/^\S+ /, '')))
  }
}

/** A notifier, and the connections that it gets one after the other. */
function begin(prepare: (client: FakeClient, place: number) => void = () => {}) {
  const clients: FakeClient[] = []
  const connect = async (): Promise<PostgresClient> => {
    const client = new FakeClient()
    prepare(client, clients.length)
    clients.push(client)
    return client as Partial<PostgresClient> as PostgresClient
  }
  const notifier = new Notifier('changes', async () => ({ connect }) as Partial<PostgresPool> as PostgresPool)
  return { notifier, clients }
}

function listener() {
  return { onNotification: vi.fn<(message: string) => void>(), onGap: vi.fn<() => void>() }
}

const soon = () => vi.advanceTimersByTimeAsync(0)
const away = new Error('away')

describe('a notifier', () => {
  test('listens from its first listener to its last, on one connection', async () => {
    const { notifier, clients } = begin()
    expect(notifier.isListening).toBe(false)
    const [one, other] = [listener(), listener()]
    await Promise.all([notifier.subscribe(one), notifier.subscribe(other)])
    expect([notifier.isListening, clients.length]).toEqual([true, 1])
    expect(clients[0]?.queries).toEqual([{ text: expect.stringContaining('LISTEN "changes"'), query_timeout: 5000 }])
    await notifier.unsubscribe(one)
    expect(notifier.isListening).toBe(true)
    await notifier.unsubscribe(other)
    expect([notifier.isListening, clients[0]?.release.mock.calls, vi.getTimerCount()]).toEqual([false, [[true]], 0])
  })

  test('tells its listeners at once, and others by the connection; its own messages that come back are nothing new', async () => {
    const { notifier, clients } = begin()
    const own = listener()
    await notifier.subscribe(own)
    notifier.notify('one two')
    expect(own.onNotification.mock.calls).toEqual([['one two']])
    await soon()
    const [payload] = messagesOf(clients[0]?.queries[1] ?? { text: '' })
    clients[0]?.emit('notification', { payload })
    expect(own.onNotification).toHaveBeenCalledTimes(1)
    clients[0]?.emit('notification', { payload: 'another one two' })
    clients[0]?.emit('notification', {})
    expect(own.onNotification.mock.calls.slice(1)).toEqual([['one two'], ['']])
  })

  test('that does not listen sends nothing, then or later', async () => {
    const { notifier, clients } = begin()
    notifier.notify('early')
    await notifier.subscribe(listener())
    await soon()
    expect(clients[0]?.sent).toEqual([])
  })

  test('sends what comes while it connects once it listens', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const { notifier, clients } = begin((client) => client.fates.push(promise))
    const subscribed = notifier.subscribe(listener())
    await soon()
    notifier.notify('meanwhile')
    await soon()
    expect(clients[0]?.sent).toEqual([])
    resolve()
    await subscribed
    await soon()
    expect(clients[0]?.sent).toEqual([['meanwhile']])
  })

  test('sends one statement at a time, each message once, 200 at most', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const { notifier, clients } = begin((client) => client.fates.push(Promise.resolve(), promise))
    await notifier.subscribe(listener())
    notifier.notify('first')
    for (let n = 0; n < 201; n++) notifier.notify(`message ${n}`)
    notifier.notify('message 0')
    expect(clients[0]?.sent).toEqual([['first']])
    resolve()
    await soon()
    expect(clients[0]?.sent.map(({ length }) => length)).toEqual([1, 200, 1])
    expect(clients[0]?.sent.flat().slice(1)).toEqual(Array.from({ length: 201 }, (_, n) => `message ${n}`))
  })

  test('keeps 10,000 messages that wait', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const { notifier, clients } = begin((client) => client.fates.push(Promise.resolve(), promise))
    await notifier.subscribe(listener())
    notifier.notify('first')
    for (let n = 0; n < 10_001; n++) notifier.notify(`message ${n}`)
    resolve()
    await soon()
    expect(clients[0]?.sent.flat()).toHaveLength(1 + 10_000)
  })

  test('asks the database every ten seconds whether it is there', async () => {
    const { notifier, clients } = begin()
    await notifier.subscribe(listener())
    await vi.advanceTimersByTimeAsync(9_999)
    expect(clients[0]?.sent).toEqual([])
    await vi.advanceTimersByTimeAsync(1)
    expect(clients[0]?.sent).toEqual([[]])
  })

  test('has sent what waits when it stops', async () => {
    const { promise, resolve } = Promise.withResolvers<void>()
    const { notifier, clients } = begin((client) => client.fates.push(Promise.resolve(), promise))
    await notifier.subscribe(listener())
    notifier.notify('one')
    notifier.notify('two')
    const stopped = notifier.stop()
    await soon()
    expect(clients[0]?.release).not.toHaveBeenCalled()
    resolve()
    await stopped
    expect([clients[0]?.sent, clients[0]?.release.mock.calls]).toEqual([[['one'], ['two']], [[true]]])
  })
})

describe('a connection', () => {
  test.each([
    ['has an error', (client: FakeClient) => client.emit('error', away)],
    ['ends', (client: FakeClient) => client.emit('end')],
    [
      'does not answer a NOTIFY',
      (client: FakeClient, notifier: Notifier) => {
        client.fates.push(away)
        notifier.notify('lost')
      },
    ],
  ])('that %s is given back as broken and renewed, and listeners learn of the gap', async (_, cut) => {
    const { notifier, clients } = begin()
    const own = listener()
    await notifier.subscribe(own)
    expect(own.onGap).toHaveBeenCalledTimes(1)
    cut(clients[0]!, notifier)
    await soon()
    expect([notifier.isListening, clients[0]?.release.mock.calls]).toEqual([false, [[true]]])
    clients[0]?.emit('end')
    await vi.advanceTimersByTimeAsync(99)
    expect(clients).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1)
    expect([clients.length, notifier.isListening, own.onGap.mock.calls.length]).toEqual([2, true, 2])
    clients[0]?.emit('end')
    expect(notifier.isListening).toBe(true)
    const before = clients[0]?.queries.length
    await vi.advanceTimersByTimeAsync(10_000)
    expect([clients[0]?.queries.length, clients[1]?.sent]).toEqual([before, [[]]])
  })

  test('that cannot listen is given back, and the pauses before the next tries grow until one can', async () => {
    const { notifier, clients } = begin((client, place) => {
      if (place < 3) client.fates.push(away)
    })
    const own = listener()
    await notifier.subscribe(own)
    expect([notifier.isListening, clients[0]?.release.mock.calls]).toEqual([false, [[true]]])
    await vi.advanceTimersByTimeAsync(100)
    expect(clients).toHaveLength(2)
    await vi.advanceTimersByTimeAsync(199)
    expect(clients).toHaveLength(2)
    await vi.advanceTimersByTimeAsync(1)
    expect(clients).toHaveLength(3)
    expect(own.onGap).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(400)
    expect([notifier.isListening, own.onGap.mock.calls.length]).toEqual([true, 1])
    clients[3]?.emit('end')
    await vi.advanceTimersByTimeAsync(100)
    expect(clients).toHaveLength(5)
  })

  test('is not renewed once nobody listens', async () => {
    const { notifier, clients } = begin((client) => client.fates.push(away))
    await notifier.subscribe(listener())
    await notifier.stop()
    await vi.advanceTimersByTimeAsync(60_000)
    expect([clients.length, vi.getTimerCount()]).toEqual([1, 0])
  })

  test('is not renewed where the notifier was stopped during an attempt that failed', async () => {
    const slow = Promise.withResolvers<void>()
    const { notifier, clients } = begin((client) => client.fates.push(slow.promise))
    const subscribed = notifier.subscribe(listener())
    await soon()
    const stopped = notifier.stop()
    slow.reject(away)
    await Promise.all([subscribed, stopped])
    await vi.advanceTimersByTimeAsync(60_000)
    expect(clients).toHaveLength(1)
  })
})

test('a notifier that is stopped while it connects, or sends, is stopped after that, and lets go of its connection', async () => {
  for (const what of ['connects', 'sends']) {
    const slow = Promise.withResolvers<void>()
    const { notifier, clients } = begin(({ fates }) => {
      if (what === 'sends') fates.push(Promise.resolve())
      fates.push(slow.promise)
    })
    const subscribed = notifier.subscribe(listener())
    await soon()
    if (what === 'sends') notifier.notify('one')
    let isStopped = false
    const stopped = notifier.stop().then(() => (isStopped = true))
    await soon()
    expect([isStopped, clients[0]?.release.mock.calls.length]).toEqual([false, 0])
    slow.resolve()
    await Promise.all([stopped, subscribed])
    expect([notifier.isListening, clients[0]?.release.mock.calls]).toEqual([false, [[true]]])
  }
})
