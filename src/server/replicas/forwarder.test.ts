import { describe, expect, test, vi } from 'vitest'
import type { Sink } from '../http/exchange.ts'
import { Forwarder, leftReply, movedReply, readRequest } from './forwarder.ts'
import type { Instance } from './instance.ts'
import type { Delivery, Messenger } from './messenger.ts'
import type { Peers } from './peers.ts'

const there: Instance = { id: 'there', url: 'http://10.0.0.8:3000/mcp' }
const successor: Instance = { id: 'next', url: undefined }
const request = {
  method: 'POST' as const,
  header: (name: string) => ({ 'mcp-session-id': 'session', authorization: 'Bearer secret' })[name],
  principal: { id: 'ann' },
  body: { jsonrpc: '2.0' },
  gone: new Set(['old']),
}

/** A forwarder whose messages are delivered so, and what happens meanwhile. */
function begin(delivery: Delivery, wasLost = false) {
  const [log, sent] = [[] as string[], [] as Parameters<Messenger['send']>[]]
  const send: Messenger['send'] = async (...message) => {
    sent.push(message)
    return delivery
  }
  const peers: Partial<Peers> = {
    isLost: () => wasLost,
    lose: ({ id }, next) => void log.push(`lost ${id}, next ${next?.id}`),
    meetAgain: ({ id }) => log.push(`met ${id}`) > 0,
  }
  let disconnect = (): void => {}
  const sink: Partial<Sink> = {
    open: (headers) => void log.push(`open ${headers['content-type']}`),
    write: (chunk: string) => void log.push(`write ${chunk}`),
    end: () => void log.push('end'),
    onDisconnect: (run) => void (disconnect = run),
  }
  const forwarder = new Forwarder({ send } as Partial<Messenger> as Messenger, peers as Peers)
  return { forwarder, sink: sink as Sink, log, sent, disconnect: () => disconnect() }
}

const delivered = (body: BodyInit | null, init: ResponseInit = {}): Delivery => ({
  kind: 'delivered',
  response: new Response(body, init),
})

/** A body that takes a moment to be let go. */
function heldBody(log: string[]): ReadableStream {
  return new ReadableStream({
    async cancel() {
      await new Promise((resolve) => setImmediate(resolve))
      log.push('let go')
    },
  })
}

const stream = { headers: { 'content-type': 'text/event-stream' } }
const streamOf = (...chunks: string[]): ReadableStream =>
  new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(new TextEncoder().encode(chunk))
      controller.close()
    },
  })

describe('a request of another instance', () => {
  test('goes there with what is needed to serve it, and no token of the caller', async () => {
    const { forwarder, sink, sent, log } = begin(delivered('{"id":1}', { status: 400 }))
    expect(await forwarder.forward(there, request, sink)).toEqual({
      kind: 'replied',
      reply: { status: 400, body: '{"id":1}' },
    })
    expect(log).toEqual(['met there'])
    const [to, message, options] = sent[0] ?? []
    expect([to, options]).toEqual([there, { wasLost: false }])
    expect(JSON.stringify(message)).not.toContain('secret')
    const read = readRequest(JSON.parse(JSON.stringify(message)) as Record<string, unknown>)
    expect(read).toEqual({ ...request, header: expect.any(Function) })
    expect([read.header('mcp-session-id'), read.header('accept')]).toEqual(['session', undefined])
  })

  test('without a body is one there too', async () => {
    const { forwarder, sink, sent } = begin(delivered(null))
    const { body: _, ...withoutBody } = request
    await forwarder.forward(there, { ...withoutBody, method: 'GET' }, sink)
    const read = readRequest(JSON.parse(JSON.stringify(sent[0]?.[1])) as Record<string, unknown>)
    expect([read.method, 'body' in read]).toEqual(['GET', false])
  })

  test('is answered without a body where the reply has none', async () => {
    const { forwarder, sink } = begin(delivered(null, { status: 202 }))
    expect(await forwarder.forward(there, request, sink)).toEqual({ kind: 'replied', reply: { status: 202 } })
  })

  test('tells who is gone, and who is there instead', async () => {
    const { forwarder, sink, log, sent } = begin({ kind: 'gone', why: 'refused', successor }, true)
    expect(await forwarder.forward(there, request, sink)).toMatchObject({ kind: 'gone', why: 'refused' })
    expect([log, sent[0]?.[2]]).toEqual([['lost there, next next'], { wasLost: true }])
  })

  test('that has moved is looked for there, once the reply is let go', async () => {
    const log: string[] = []
    const { headers, status } = movedReply(successor)
    const { forwarder, sink } = begin(delivered(heldBody(log), { status, headers: { ...headers } }))
    expect(await forwarder.forward(there, request, sink)).toEqual({ kind: 'moved', to: successor })
    expect(log).toEqual(['let go'])
  })

  test('that an instance has left which is being stopped is nobody’s, once the reply is let go', async () => {
    const log: string[] = []
    const { headers, status } = leftReply()
    const { forwarder, sink } = begin(delivered(heldBody(log), { status, headers: { ...headers } }))
    expect(await forwarder.forward(there, request, sink)).toEqual({ kind: 'gone', why: 'it is being stopped' })
    expect(log).toEqual(['let go'])
  })

  test('that is answered by a stream gets it, after what comes first', async () => {
    const { forwarder, sink, log } = begin(delivered(streamOf('a', 'ü'), stream))
    expect(await forwarder.forward(there, request, sink, 'first')).toEqual({ kind: 'replied', reply: undefined })
    await vi.waitFor(() => expect(log.at(-1)).toBe('end'))
    expect(log).toEqual(['met there', 'open text/event-stream', 'write first', 'write a', 'write ü', 'end'])
  })

  test('whose stream breaks off ends, and one whose client goes away is let go', async () => {
    const broken = begin(
      delivered(
        new ReadableStream({
          pull: () => {
            throw new Error('cut')
          },
        }),
        stream,
      ),
    )
    await broken.forwarder.forward(there, request, broken.sink)
    await vi.waitFor(() => expect(broken.log).toEqual(['met there', 'open text/event-stream', 'end']))
    const log: string[] = []
    const left = begin(delivered(heldBody(log), stream))
    await left.forwarder.forward(there, request, left.sink)
    left.disconnect()
    await vi.waitFor(() => expect([log, left.log.at(-1)]).toEqual([['let go'], 'end']))
  })
})

describe('an open answer', () => {
  test('goes on by the stream of another instance', async () => {
    const { forwarder, sink, log } = begin(delivered(streamOf('a'), stream))
    expect(await forwarder.join(there, request, sink)).toBe(true)
    await vi.waitFor(() => expect(log).toEqual(['write a', 'end']))
  })

  test('does not where that has none, whose reply is let go, nor where it is gone', async () => {
    const log: string[] = []
    const other = begin(delivered(heldBody(log), { status: 404 }))
    expect(await other.forwarder.join(there, request, other.sink)).toBe(false)
    expect([log, other.log]).toEqual([['let go'], []])
    const gone = begin({ kind: 'gone', why: 'refused' })
    expect(await gone.forwarder.join(there, request, gone.sink)).toBe(false)
  })
})
