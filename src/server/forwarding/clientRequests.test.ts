import { describe, expect, test, vi } from 'vitest'
import type { Instance, ClusterScope } from '../../cluster/index.ts'
import type { Sink } from '../http/exchange.ts'
import { ClientRequests, readRequest } from './clientRequests.ts'

const there: Instance = { id: 'there', url: 'http://10.0.0.8:3000/mcp' }
const successor: Instance = { id: 'next', url: undefined }
const request = {
  method: 'POST' as const,
  header: (name: string) => ({ 'mcp-session-id': 'session', authorization: 'Bearer secret' })[name],
  principal: { id: 'ann' },
  body: { jsonrpc: '2.0' },
  gone: new Set(['old']),
}

type Forwarded = Awaited<ReturnType<ClusterScope['forward']>>

/** Requests whose forwarding ends so, and what happens meanwhile. */
function begin(outcome: Forwarded) {
  const [log, sent] = [[] as string[], [] as Parameters<ClusterScope['forward']>[]]
  const scope: Partial<ClusterScope> = {
    forward: async (...message) => {
      sent.push(message)
      return outcome
    },
  }
  let disconnect = (): void => {}
  const sink: Partial<Sink> = {
    open: (headers) => void log.push(`open ${headers['content-type']}`),
    write: (chunk: string) => void log.push(`write ${chunk}`),
    end: () => void log.push('end'),
    onDisconnect: (run) => void (disconnect = run),
  }
  const forwarder = new ClientRequests(scope as ClusterScope)
  return { forwarder, sink: sink as Sink, log, sent, disconnect: () => disconnect() }
}

const delivered = (body: BodyInit | null, init: ResponseInit = {}): Forwarded => ({
  kind: 'answered',
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
    const { forwarder, sink, sent } = begin(delivered('{"id":1}', { status: 400 }))
    expect(await forwarder.forward(there, request, sink)).toEqual({
      kind: 'replied',
      reply: { status: 400, body: '{"id":1}' },
    })
    const [to, message] = sent[0] ?? []
    expect(to).toEqual(there)
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

  test('tells where the instance is gone or silent, and where the thing went', async () => {
    for (const kind of ['gone', 'silent'] as const) {
      const { forwarder, sink } = begin({ kind, why: 'refused' })
      expect(await forwarder.forward(there, request, sink)).toEqual({ kind: 'gone', why: 'refused' })
    }
    const { forwarder, sink } = begin({ kind: 'moved', to: successor })
    expect(await forwarder.forward(there, request, sink)).toEqual({ kind: 'moved', to: successor })
  })

  test('that is answered by a stream gets it, after what comes first', async () => {
    const { forwarder, sink, log } = begin(delivered(streamOf('a', 'ü'), stream))
    expect(await forwarder.forward(there, request, sink, 'first')).toEqual({ kind: 'replied', reply: undefined })
    await vi.waitFor(() => expect(log.at(-1)).toBe('end'))
    expect(log).toEqual(['open text/event-stream', 'write first', 'write a', 'write ü', 'end'])
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
    await vi.waitFor(() => expect(broken.log).toEqual(['open text/event-stream', 'end']))
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
