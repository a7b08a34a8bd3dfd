import { InMemoryTransport as InMemoryV2 } from '@modelcontextprotocol/client'
import { InMemoryTransport as InMemoryV1 } from '@modelcontextprotocol/sdk/inMemory.js'
import { describe, expect, test } from 'vitest'
import { Above, FakeTransport } from '../../../test/client/fixtures/fakeTransport.ts'
import { compose, createLayer, type LayerContext } from './layer.ts'
import type { Layer } from './transport.ts'

class Private extends FakeTransport {
  #secret = 7
  readonly hasPerRequestStream = true
  version: string | undefined
  starts = 0

  get sessionId(): string {
    return `session-${this.#secret}`
  }

  reveal(): number {
    return this.#secret
  }

  override async start(): Promise<void> {
    this.starts++
  }

  setProtocolVersion(version: string): void {
    this.version = version
  }
}

const nothing: Layer = (transport) => createLayer(transport, () => ({}))
const marked = (mark: string): Layer => {
  const add = (message: object) => ({ ...message, marks: `${(message as { marks?: string }).marks ?? ''}${mark}` })
  return (transport) =>
    createLayer(transport, (context) => ({
      send: (message, options) => context.send(add(message), options),
      receive: (message, extra) => context.deliver(add(message), extra),
    }))
}

test('everything that is not about messages stays what it is', () => {
  const inner = new Private()
  const outer = compose(nothing, nothing)(inner)
  expect(outer).toBeInstanceOf(Private)
  expect(Object.getPrototypeOf(outer)).toBe(Private.prototype)
  expect(outer.constructor).toBe(Private)
  expect('sessionId' in outer).toBe(true)
  expect([outer.sessionId, outer.reveal(), outer.hasPerRequestStream]).toEqual(['session-7', 7, true])
  expect(outer.reveal).toBe(outer.reveal)
  outer.setProtocolVersion('x')
  expect([inner.version, outer.version]).toEqual(['x', 'x'])
})

test('what is set on the outer transport is set on the inner one', () => {
  const inner = new Private()
  const outer = nothing(inner)
  outer.version = 'mine'
  expect(inner.version).toBe('mine')
})

test('a method that was replaced and put back is the first one again, however often', async () => {
  const inner = new Private()
  const outer = compose(nothing, nothing)(inner)
  for (let round = 0; round < 3; round++) {
    const original = outer.start
    outer.start = async () => {
      outer.start = original
    }
    await outer.start()
    await outer.start()
  }
  expect(inner.starts).toBe(3)
  expect(inner.start).toBe(Private.prototype.start)
})

test('a replaced send is used, and the layer is back when it is put back', async () => {
  const inner = new FakeTransport()
  const outer = marked('a')(inner)
  const original = outer.send
  outer.send = async () => undefined
  await outer.send({ method: 'lost' })
  outer.send = original
  await outer.send({ method: 'kept' })
  expect(inner.sent).toEqual([{ method: 'kept', marks: 'a' }])
})

test('what is replaced on a transport counts for the layers around it, too', async () => {
  const inner = new FakeTransport()
  const middle = marked('b')(inner)
  const outer = compose(nothing, marked('a'), nothing)(middle)
  const [ofMiddle, ofInner] = [middle.send, inner.send.bind(inner)]
  middle.send = (message) => ofMiddle({ ...message, through: 'middle' })
  await outer.send({ method: 'one' })
  middle.send = ofMiddle
  inner.send = (message) => ofInner({ ...message, through: 'inner' })
  await outer.send({ method: 'two' })
  expect(inner.sent).toEqual([
    { method: 'one', marks: 'ab', through: 'middle' },
    { method: 'two', marks: 'ab', through: 'inner' },
  ])
})

test('the outermost layer is the first to see what goes out, and the last to see what comes in', async () => {
  const inner = new FakeTransport()
  const above = new Above(compose(marked('a'), marked('b'))(inner))
  await above.send({ method: 'out' })
  inner.say({ method: 'in' })
  expect(inner.sent).toMatchObject([{ marks: 'ab' }])
  expect(above.heard).toMatchObject([{ marks: 'ba' }])
})

test.each([
  [
    'throws',
    () => {
      throw new Error('broken')
    },
    { status: 'rejected' },
  ],
  ['gives no promise', () => undefined, { status: 'fulfilled' }],
])('a transport whose send %s is one with promises to layers', async (_, send, outcome) => {
  const inner = Object.assign(new FakeTransport(), { send })
  const sent: Promise<void>[] = []
  const layer: Layer = (transport) =>
    createLayer(transport, (context) => ({
      send(message, options) {
        const sending = context.send(message, options)
        sent.push(sending)
        return sending
      },
    }))
  await Promise.allSettled([layer(inner).send({ method: 'any' } as never)])
  expect(await Promise.allSettled(sent)).toMatchObject([outcome])
})

test('several messages in one pass untouched', async () => {
  const inner = new FakeTransport()
  const batch = [{ method: 'a' }, { method: 'b' }]
  await marked('a')(inner).send(batch as never)
  expect(inner.sent[0]).toBe(batch)
})

test('handlers that were there before are seen, chained and called', () => {
  const inner = new FakeTransport()
  const heard: string[] = []
  inner.onclose = () => void heard.push('before')
  const outer = nothing(inner)
  const before = outer.onclose
  outer.onclose = () => {
    before?.()
    heard.push('after')
  }
  inner.onclose()
  expect(heard).toEqual(['before', 'after'])
})

test('a layer is told when the connection is over, by either side', async () => {
  const ended: string[] = []
  const layer: Layer = (transport) => createLayer(transport, () => ({ closed: () => void ended.push('closed') }))
  const inner = new FakeTransport()
  const above = new Above(layer(inner))
  inner.onclose?.()
  expect(ended).toEqual(['closed'])
  await above.transport.close()
  expect(ended.length).toBeGreaterThan(1)
})

test('what a layer reports reaches the host', () => {
  const reports: LayerContext[] = []
  const inner = new FakeTransport()
  const above = new Above(createLayer(inner, (context) => (reports.push(context), {})))
  reports[0]?.report(new Error('news'))
  inner.onerror?.(new Error('from below'))
  expect(above.faults.map(({ message }) => message)).toEqual(['news', 'from below'])
})

describe.each([
  ['v1', InMemoryV1],
  ['v2', InMemoryV2],
] as const)('the in-memory transport of %s', (_, InMemory) => {
  test('keeps messages that came before anybody listened', async () => {
    const [client, server] = InMemory.createLinkedPair() as [InMemoryV2, InMemoryV2]
    const outer = compose(marked('a'), marked('b'))(client)
    await server.send({ jsonrpc: '2.0', method: 'early' })
    const heard: object[] = []
    outer.onmessage = (message) => void heard.push(message)
    await outer.start()
    expect(heard).toMatchObject([{ method: 'early', marks: 'ba' }])
  })
})
