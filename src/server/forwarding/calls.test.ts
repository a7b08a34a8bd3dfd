import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import type { Instance, Members, ClusterScope } from '../../cluster/index.ts'
import type { Json } from '../../protocol/index.ts'
import type { Sink } from '../http/exchange.ts'
import { KEEP_ALIVE } from '../http/sse.ts'
import { type ArrivedCall, ForwardedCalls } from './calls.ts'

const owner: Instance = { id: 'owner', url: 'http://10.0.0.8:3000/mcp' }
type Forwarded = Awaited<ReturnType<ClusterScope['forward']>>

/** Calls whose forwarding ends so, and what becomes of one. */
function begin(outcome: Forwarded) {
  const [log, sent] = [[] as string[], [] as Parameters<ClusterScope['forward']>[]]
  let lose = (): void => {}
  const members: Partial<Members> = {
    onLost: (_, listener) => {
      lose = listener
      return () => void log.push('forgotten')
    },
    check: async (id) => log.push(`checked ${id}`) > 0,
  }
  const scope: Partial<ClusterScope> = {
    members: members as Members,
    handle: () => {},
    forward: async (...message) => {
      sent.push(message)
      return sent.length === 1 ? outcome : { kind: 'answered', response: new Response(heldBody(log)) }
    },
  }
  const forwarder = new ForwardedCalls(scope as ClusterScope)
  let cancel = (): void => {}
  const channel = {
    notify: (method: string, params: Json) => void log.push(`${method} ${JSON.stringify(params)}`),
    onCancel: (listener: () => void) => void (cancel = listener),
  }
  const call = { id: 7, method: 'tools/call', params: { name: 'pay' }, principal: { id: 'ann' }, channel }
  return { forwarder, call, log, sent, lose: () => lose(), cancel: () => cancel() }
}

function heldBody(log: string[]): ReadableStream {
  return new ReadableStream({ cancel: () => void log.push('let go') })
}

function delivered(...chunks: string[]): Forwarded {
  const body = new ReadableStream({
    start(controller) {
      for (const chunk of chunks) controller.enqueue(new TextEncoder().encode(chunk))
      controller.close()
    },
  })
  return { kind: 'answered', response: new Response(body) }
}

const answer = { jsonrpc: '2.0', id: 7, result: { content: [] } }

describe('a call that goes to its owner', () => {
  test('takes its caller along, and comes back with its notifications and its response', async () => {
    const event = `data: {"method":"notifications/progress","params":{"progress":1}}\n\ndata: 5\n\n`
    const events = `${KEEP_ALIVE}${event}${KEEP_ALIVE}data: ${JSON.stringify(answer)}\n\n`
    const { forwarder, call, log, sent } = begin(delivered(events.slice(0, 30), events.slice(30)))
    const header = (name: string): string => `the ${name} of ann`
    expect(await forwarder.forward(owner, { ...call, header })).toEqual({ kind: 'answered', response: answer })
    expect(log).toEqual(['notifications/progress {"progress":1}', 'forgotten'])
    const [to, message, options] = sent[0] ?? []
    expect([to, options]).toEqual([owner, { isOnce: false }])
    expect(message).toEqual({
      kind: 'call',
      name: expect.any(String),
      principal: { id: 'ann' },
      authorization: 'the authorization of ann',
      message: { jsonrpc: '2.0', id: 7, method: 'tools/call', params: { name: 'pay' } },
    })
  })

  test('comes back with a large response in time that does not grow with its square', { timeout: 5000 }, async () => {
    const large = { ...answer, result: { content: [{ type: 'text', text: 'x'.repeat(16 * 1024 * 1024) }] } }
    const event = `data: ${JSON.stringify(large)}\n\n`
    const size = 16 * 1024
    const chunks = Array.from({ length: Math.ceil(event.length / size) }, (_, at) =>
      event.slice(at * size).slice(0, size),
    )
    const { forwarder, call } = begin(delivered(...chunks))
    expect(await forwarder.forward(owner, call)).toEqual({ kind: 'answered', response: large })
  })

  test.each([0, 1, 2, 3, 40])('finds its events wherever they are divided: %s', async (before) => {
    const events = `: a\n\n: b\n\ndata: ${JSON.stringify(answer)}\n\n`
    const { forwarder, call } = begin(delivered(events.slice(0, before), ...events.slice(before).split('')))
    expect(await forwarder.forward(owner, call)).toEqual({ kind: 'answered', response: answer })
  })

  test.each(['gone', 'silent'] as const)('tells where the owner is %s', async (kind) => {
    const { forwarder, call, sent } = begin({ kind, why: 'no reply' })
    expect(await forwarder.forward(owner, call, { isOnce: true })).toEqual({ kind, why: 'no reply' })
    expect(sent.map(([, , options]) => options)).toEqual([{ isOnce: true }])
  })

  test('tells where the owner was reached and did not answer, and has it looked at', async () => {
    const ended = begin(delivered('data: {"method":"x"}\n\n', 'data: {"id'))
    expect(await ended.forwarder.forward(owner, ended.call)).toMatchObject({ kind: 'broken' })
    expect(ended.log.slice(1)).toEqual(['forgotten', 'checked owner'])
    const broken = new ReadableStream({
      pull: () => {
        throw new Error('cut')
      },
    })
    const cut = begin({ kind: 'answered', response: new Response(broken) })
    const outcome = await cut.forwarder.forward(owner, cut.call)
    expect(outcome).toMatchObject({ kind: 'broken', why: expect.stringContaining('connection broke') })
    expect(cut.log).toEqual(['forgotten', 'checked owner'])
  })

  test('ends when its owner is found to be gone', async () => {
    const own: string[] = []
    const { forwarder, call, lose } = begin({ kind: 'answered', response: new Response(heldBody(own)) })
    const outcome = forwarder.forward(owner, call)
    await vi.waitFor(() => {
      lose()
      expect(own).toEqual(['let go'])
    })
    expect(await outcome).toMatchObject({ kind: 'broken' })
  })

  test('that its caller leaves is said to the owner, by its name', async () => {
    const { forwarder, call, cancel, sent, log } = begin(delivered(`data: ${JSON.stringify(answer)}\n\n`))
    await forwarder.forward(owner, call)
    cancel()
    await vi.waitFor(() => expect(log.at(-1)).toBe('let go'))
    expect(sent[1]).toEqual([owner, { kind: 'call-cancelled', name: sent[0]?.[1]['name'] }])
  })
})

describe('a call that arrives at its owner', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  function arrive(name: string) {
    const { forwarder } = begin(delivered())
    let disconnect = (): void => {}
    const sink: Partial<Sink> = { onDisconnect: (listener) => void (disconnect = listener) }
    const { promise, resolve } = Promise.withResolvers<undefined>()
    const left = vi.fn<() => void>()
    const arrived: ArrivedCall[] = []
    const serve = (call: ArrivedCall): Promise<undefined> => {
      arrived.push(call)
      call.onCancel(left)
      return promise
    }
    const message = { jsonrpc: '2.0', id: 7 }
    const served = forwarder.serve(serve, owner, { name, message, principal: { id: 'ann' } }, sink as Sink)
    const finish = (): Promise<unknown> => {
      resolve(undefined)
      return served
    }
    return { forwarder, arrived, left, finish, disconnect: () => disconnect() }
  }

  test('is served as its caller’s, and is cancelled when the caller has left', async () => {
    const { forwarder, arrived, left, finish } = arrive('one')
    expect(arrived).toMatchObject([{ from: owner, message: { id: 7 }, principal: { id: 'ann' } }])
    forwarder.deliver('cancelled', 'another')
    forwarder.deliver('disconnected', 'one')
    expect(left).not.toHaveBeenCalled()
    forwarder.deliver('cancelled', 'one')
    forwarder.deliver('cancelled', 'one')
    expect(left).toHaveBeenCalledOnce()
    await finish()
  })

  test('goes on for ten seconds after its stream broke off: its client may come by another instance', async () => {
    const { left, disconnect, finish } = arrive('one')
    disconnect()
    await vi.advanceTimersByTimeAsync(9_999)
    expect(left).not.toHaveBeenCalled()
    await vi.advanceTimersByTimeAsync(1)
    expect(left).toHaveBeenCalledOnce()
    await finish()
  })

  test('that was answered cannot be cancelled, and leaves no timer', async () => {
    const { forwarder, left, disconnect, finish } = arrive('one')
    disconnect()
    await finish()
    forwarder.deliver('cancelled', 'one')
    expect([left.mock.calls.length, vi.getTimerCount()]).toEqual([0, 0])
  })
})
