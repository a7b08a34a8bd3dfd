import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { CODES, META } from '../../protocol/index.ts'
import type { Transport, WireMessage } from '../layer/transport.ts'
import { modern } from './layer.ts'

beforeEach(() => void vi.useFakeTimers())
afterEach(() => void vi.useRealTimers())

const initialize = {
  jsonrpc: '2.0',
  id: 1,
  method: 'initialize',
  params: { protocolVersion: '2025-11-25', clientInfo: { name: 'host' }, capabilities: { roots: {} } },
}

/** A client over the layer. Its server takes messages, or fails to by what `fails` gives. */
function begin(fails: (message: WireMessage) => Error | undefined = () => undefined, more: object = {}) {
  const [sent, received, errors] = [[] as WireMessage[], [] as WireMessage[], [] as Error[]]
  const inner: Transport = {
    start: async () => {},
    close: async () => {},
    send: async (message) => {
      sent.push(message)
      const error = fails(message)
      if (error !== undefined) throw error
    },
    ...more,
  }
  const outer = modern({ probeMs: 1000 })(inner)
  outer.onmessage = (message) => void received.push(message)
  outer.onerror = (error) => void errors.push(error)
  const answer = (place: number, part: object): void =>
    inner.onmessage?.({ jsonrpc: '2.0', id: sent[place]?.id, ...part } as WireMessage)
  return { outer, inner, sent, received, errors, answer, methods: () => sent.map(({ method }) => method) }
}

const soon = () => vi.advanceTimersByTimeAsync(0)
const withStatus = (code: number) => Object.assign(new Error('refused'), { code })

describe('a server that refuses server/discover by its HTTP status', () => {
  test.each([400, 404, 499])('%d is of the session era, and gets the initialize of the client', async (status) => {
    const { outer, sent } = begin(({ method }) => (method === 'server/discover' ? withStatus(status) : undefined))
    await outer.send(initialize)
    expect(sent[1]).toEqual(initialize)
  })

  test.each([399, 500])('%d is an error, as a network that fails is', async (status) => {
    const { outer, methods } = begin(() => withStatus(status))
    await expect(outer.send(initialize)).rejects.toThrow('refused')
    expect(methods()).toEqual(['server/discover'])
    await expect(begin(() => new Error('no network')).outer.send(initialize)).rejects.toThrow('no network')
  })
})

describe('a server that answers server/discover', () => {
  test('is of the stateless revision: initialize is answered, and each request has the envelope', async () => {
    const { outer, sent, received, answer } = begin()
    await outer.send(initialize)
    const envelope = {
      [META.version]: '2026-07-28',
      [META.client]: { name: 'host' },
      [META.capabilities]: { roots: {} },
    }
    expect(sent).toMatchObject([{ method: 'server/discover', params: { _meta: envelope } }])
    const _meta = { [META.server]: { name: 'shop', version: '1' } }
    answer(0, { result: { capabilities: { tools: {} }, instructions: 'Ask.', _meta } })
    expect(received).toEqual([
      {
        jsonrpc: '2.0',
        id: 1,
        result: {
          protocolVersion: '2025-11-25',
          capabilities: { tools: {} },
          serverInfo: { name: 'shop', version: '1' },
          instructions: 'Ask.',
        },
      },
    ])
    await outer.send({ jsonrpc: '2.0', id: 2, method: 'tools/list' })
    expect(sent[1]).toMatchObject({ id: 2, params: { _meta: envelope } })
    await outer.send({ jsonrpc: '2.0', id: 3, method: 'ping' })
    expect([received[1], sent.length]).toEqual([{ jsonrpc: '2.0', id: 3, result: {} }, 2])
  })

  test('with nothing in it has no name and no instructions', async () => {
    const { outer, received, answer } = begin()
    await outer.send(initialize)
    answer(0, { result: {} })
    expect(received[0]?.['result']).toEqual({
      protocolVersion: '2025-11-25',
      capabilities: {},
      serverInfo: { name: 'unnamed', version: '' },
    })
  })

  test('with an error that only the stateless revision has is that error for the client', async () => {
    const { outer, received, methods, answer } = begin()
    await outer.send(initialize)
    answer(0, { error: { code: CODES.UNSUPPORTED_PROTOCOL_VERSION, message: 'No.' } })
    expect(received).toMatchObject([{ id: 1, error: { code: CODES.UNSUPPORTED_PROTOCOL_VERSION } }])
    expect(methods()).toEqual(['server/discover'])
  })

  test('with another error is of the session era; where that cannot be reached, the client learns why', async () => {
    const old = begin()
    await old.outer.send(initialize)
    old.answer(0, { error: { code: CODES.METHOD_NOT_FOUND, message: 'No.' } })
    expect(old.sent[1]).toEqual(initialize)
    const cause = new Error('gone')
    const gone = begin(({ method }) => (method === 'initialize' ? cause : undefined))
    await gone.outer.send(initialize)
    gone.answer(0, { error: { code: CODES.METHOD_NOT_FOUND, message: 'No.' } })
    await soon()
    expect(gone.received).toMatchObject([{ id: 1, error: { data: { code: 'CONNECT_FAILED', cause } } }])
  })
})

describe('the log level', () => {
  test('goes with each request from then on, and what is none is refused', async () => {
    const { outer, sent, received, answer } = begin()
    await outer.send(initialize)
    answer(0, { result: {} })
    await outer.send({ jsonrpc: '2.0', id: 2, method: 'logging/setLevel', params: { level: 'loud' } })
    await outer.send({ jsonrpc: '2.0', id: 3, method: 'logging/setLevel', params: { level: 'debug' } })
    expect(received.slice(1)).toMatchObject([
      { id: 2, error: { code: CODES.INVALID_PARAMS } },
      { id: 3, result: {} },
    ])
    await outer.send({ jsonrpc: '2.0', id: 4, method: 'tools/list' })
    expect(sent[1]).toMatchObject({ params: { _meta: { [META.logLevel]: 'debug' } } })
  })
})

describe('a process', () => {
  const child = { pid: 1, stderr: null }

  test('that does not answer server/discover in time is of the session era, and its late answer is nothing', async () => {
    const { outer, sent, received, answer } = begin(() => undefined, child)
    await outer.send(initialize)
    await vi.advanceTimersByTimeAsync(999)
    expect(sent).toHaveLength(1)
    await vi.advanceTimersByTimeAsync(1)
    expect(sent[1]).toEqual(initialize)
    answer(0, { result: {} })
    expect(received).toEqual([])
    answer(1, { result: { protocolVersion: '2025-11-25' } })
    expect(received).toHaveLength(1)
  })

  test('that answers in time leaves no timer, and over HTTP there is none', async () => {
    const { outer, answer } = begin(() => undefined, child)
    await outer.send(initialize)
    answer(0, { result: {} })
    expect(vi.getTimerCount()).toBe(0)
    await begin().outer.send(initialize)
    expect(vi.getTimerCount()).toBe(0)
  })
})

test('a request of a server of the stateless revision is dropped and reported, one of the session era passes', async () => {
  const { outer, inner, received, errors, answer } = begin()
  await outer.send(initialize)
  answer(0, { result: {} })
  inner.onmessage?.({ jsonrpc: '2.0', id: 9, method: 'roots/list' })
  expect([received.length, errors]).toMatchObject([1, [{ code: 'REQUEST_UNRELATED' }]])
  const old = begin()
  await old.outer.send(initialize)
  old.answer(0, { error: { code: CODES.METHOD_NOT_FOUND, message: 'No.' } })
  old.inner.onmessage?.({ jsonrpc: '2.0', id: 9, method: 'roots/list' })
  expect(old.received).toMatchObject([{ id: 9 }])
})
