import { afterEach, beforeEach, describe, expect, test, vi } from 'vitest'
import { CODES, type Json, META } from '../../protocol/index.ts'
import type { LayerContext } from '../layer/layer.ts'
import type { SendOptions, WireMessage } from '../layer/transport.ts'
import { ListenStreams, ResourceSubscriptions } from './subscriptions.ts'

describe('the subscriptions of a session-era client', () => {
  beforeEach(() => void vi.useFakeTimers())
  afterEach(() => void vi.useRealTimers())

  /** Subscriptions, the streams that they opened (each by its place) and closed, and what the client was answered. */
  function begin() {
    const [opened, closed, responses] = [[] as [string, Json][], [] as number[], [] as WireMessage[]]
    const subscriptions = new ResourceSubscriptions({
      open: (id, notifications) => void opened.push([id, notifications]),
      close: (closing) => void closed.push(opened.findIndex(([id]) => id === closing)),
      respond: (message) => void responses.push(message),
    })
    const idOf = (place: number): string => opened[place]?.[0] ?? ''
    const notify = (place: number, method: string, params: Json = {}): boolean =>
      subscriptions.receive({
        jsonrpc: '2.0',
        method,
        params: { ...params, _meta: { [META.subscription]: idOf(place) } },
      })
    const acknowledge = (place: number, ...resourceSubscriptions: string[]): boolean =>
      notify(place, 'notifications/subscriptions/acknowledged', { notifications: { resourceSubscriptions } })
    const end = (place: number, code: number = CODES.INTERNAL_ERROR): boolean =>
      subscriptions.receive({ jsonrpc: '2.0', id: idOf(place), error: { code, message: 'It ended.' } })
    const wanted = (): Json[] => opened.map(([, notifications]) => notifications)
    return { subscriptions, wanted, closed, responses, notify, acknowledge, end }
  }

  const granted = (id: number) => ({ jsonrpc: '2.0', id, result: {} })
  const refused = (id: number) => expect.objectContaining({ id, error: expect.objectContaining({ code: -32602 }) })

  test('to lists are those that the server says may change, and without one there is no stream', () => {
    const { subscriptions, wanted, closed } = begin()
    subscriptions.subscribeToLists({ tools: { listChanged: false }, prompts: {}, resources: true })
    expect(wanted()).toEqual([])
    subscriptions.subscribeToLists({ tools: { listChanged: true }, prompts: { listChanged: true }, resources: {} })
    expect([wanted(), closed]).toEqual([[{ toolsListChanged: true, promptsListChanged: true }], []])
  })

  test('move to a new stream when they change, and the old one is closed once the new one is acknowledged', () => {
    const { subscriptions, wanted, closed, responses, acknowledge } = begin()
    subscriptions.subscribeToLists({ tools: { listChanged: true } })
    acknowledge(0)
    subscriptions.subscribe(1, 'a://1')
    expect([wanted()[1], closed, responses]).toEqual([
      { toolsListChanged: true, resourceSubscriptions: ['a://1'] },
      [],
      [],
    ])
    expect(acknowledge(1, 'a://1')).toBe(true)
    expect([closed, responses]).toEqual([[0], [granted(1)]])
    subscriptions.unsubscribe(2, 'a://1')
    expect([wanted()[2], responses[1]]).toEqual([{ toolsListChanged: true }, granted(2)])
  })

  test('end with their stream when the last one is taken back', () => {
    const { subscriptions, wanted, closed, responses } = begin()
    subscriptions.subscribe(1, 'a://1')
    subscriptions.unsubscribe(2, 'a://other')
    expect([wanted().length, closed, responses]).toEqual([1, [], [granted(2)]])
    subscriptions.unsubscribe(3, 'a://1')
    expect([wanted().length, closed]).toEqual([1, [0]])
  })

  test('are settled by the stream that has them: granted if it names them, else refused', () => {
    const { subscriptions, responses, acknowledge } = begin()
    subscriptions.subscribe(1, 'a://1')
    subscriptions.subscribe(2, 'a://2')
    acknowledge(0, 'a://1')
    expect(responses).toEqual([granted(1)])
    acknowledge(1, 'a://1')
    expect(responses).toEqual([granted(1), refused(2)])
  })

  test('are refused where the server acknowledges none at all', () => {
    const { subscriptions, responses, notify } = begin()
    subscriptions.subscribe(1, 'a://1')
    notify(0, 'notifications/subscriptions/acknowledged')
    expect(responses).toEqual([refused(1)])
  })

  test.each([CODES.METHOD_NOT_FOUND, CODES.INVALID_PARAMS])('are refused where the server refuses, by %d', (code) => {
    const { subscriptions, wanted, responses, end } = begin()
    subscriptions.subscribe(1, 'a://1')
    expect(end(0, code)).toBe(true)
    vi.advanceTimersByTime(60_000)
    expect([responses, wanted().length]).toEqual([[refused(1)], 1])
  })

  test('begin again after a pause when their stream ends by itself, and the pause grows until one is acknowledged', () => {
    const { subscriptions, wanted, responses, acknowledge, end } = begin()
    subscriptions.subscribe(1, 'a://1')
    const pauses: number[] = []
    const reopened = (): void => {
      const [before, ms] = [wanted().length, Date.now()]
      while (wanted().length === before) vi.advanceTimersToNextTimer()
      pauses.push(Date.now() - ms)
    }
    for (const place of [0, 1]) {
      end(place)
      reopened()
    }
    acknowledge(2, 'a://1')
    end(2)
    reopened()
    expect(responses).toEqual([granted(1)])
    const [first = 0, second = 0, third = 0] = pauses
    expect([first, second, third].every((ms) => ms >= 500)).toBe(true)
    expect(second).toBeGreaterThan(first)
    expect(third).toBeLessThan(second)
  })

  test('whose stream ends while a newer one is open do not begin again', () => {
    const { subscriptions, wanted, end, acknowledge, responses } = begin()
    subscriptions.subscribe(1, 'a://1')
    subscriptions.subscribe(2, 'a://2')
    expect(end(0)).toBe(true)
    vi.advanceTimersByTime(60_000)
    acknowledge(1, 'a://1', 'a://2')
    expect([wanted().length, responses]).toEqual([2, [granted(1), granted(2)]])
  })

  test('that change during the pause begin at once, and once', () => {
    const { subscriptions, wanted, end } = begin()
    subscriptions.subscribe(1, 'a://1')
    end(0)
    subscriptions.subscribe(2, 'a://2')
    vi.advanceTimersByTime(60_000)
    expect(wanted().slice(1)).toEqual([{ resourceSubscriptions: ['a://1', 'a://2'] }])
  })

  test('pass on what comes on the acknowledged stream, and what belongs to none of theirs', () => {
    const { subscriptions, notify, acknowledge } = begin()
    subscriptions.subscribe(1, 'a://1')
    expect(notify(0, 'notifications/resources/updated')).toBe(true)
    acknowledge(0, 'a://1')
    expect(notify(0, 'notifications/resources/updated')).toBe(false)
    subscriptions.subscribe(2, 'a://2')
    expect(notify(0, 'notifications/resources/updated')).toBe(false)
    expect(notify(1, 'notifications/resources/updated')).toBe(true)
    expect(notify(1, 'notifications/tasks')).toBe(false)
    expect(subscriptions.receive({ jsonrpc: '2.0', method: 'notifications/message', params: {} })).toBe(false)
    expect(subscriptions.receive({ jsonrpc: '2.0', id: 7, result: {} })).toBe(false)
    const foreign = { notifications: {}, _meta: { [META.subscription]: 'of the layer tasks' } }
    const method = 'notifications/subscriptions/acknowledged'
    expect(subscriptions.receive({ jsonrpc: '2.0', method, params: foreign })).toBe(false)
  })

  test('end with the connection: none begins again, and nobody is answered', () => {
    const { subscriptions, wanted, responses, end, acknowledge } = begin()
    subscriptions.subscribe(1, 'a://1')
    end(0)
    subscriptions.stop()
    vi.advanceTimersByTime(60_000)
    expect(wanted()).toHaveLength(1)
    const other = begin()
    other.subscriptions.subscribe(1, 'a://1')
    other.subscriptions.stop()
    expect([other.end(0), other.acknowledge(0, 'a://1'), acknowledge(0)]).toEqual([false, false, false])
    expect([...responses, ...other.responses]).toEqual([])
  })
})

describe('streams of subscriptions/listen', () => {
  function begin(send: (message: WireMessage) => Promise<void> = async () => {}) {
    const [sent, ended] = [[] as [WireMessage, SendOptions | undefined][], [] as WireMessage[]]
    const context = {
      send: (message: WireMessage, options?: SendOptions) => {
        sent.push([message, options])
        return send(message)
      },
    } as Partial<LayerContext> as LayerContext
    const streams = new ListenStreams(context, (message) => void ended.push(message))
    const signalOf = (place: number) => (sent[place]?.[1] as { requestSignal?: AbortSignal } | undefined)?.requestSignal
    const endOf = (place: number) =>
      (sent[place]?.[1] as { onRequestStreamEnd?: () => void } | undefined)?.onRequestStreamEnd
    return { streams, sent, ended, signalOf, endOf }
  }

  const isEnded = expect.objectContaining({
    id: 'one',
    error: expect.objectContaining({ data: { code: 'STREAM_ENDED' } }),
  })

  test('are requests, and one that ends by itself is reported', () => {
    const { streams, sent, ended, endOf } = begin()
    streams.open('one', { notifications: {} })
    expect(sent.map(([message]) => message)).toEqual([
      { jsonrpc: '2.0', id: 'one', method: 'subscriptions/listen', params: { notifications: {} } },
    ])
    endOf(0)?.()
    expect(ended).toEqual([isEnded])
  })

  test('that cannot be opened have ended', async () => {
    const { streams, ended } = begin(() => Promise.reject(new Error('no server')))
    streams.open('one', {})
    await vi.waitFor(() => expect(ended).toEqual([isEnded]))
  })

  test('that were answered end with that', () => {
    const { streams, ended, endOf } = begin()
    streams.open('one', {})
    streams.responded('one')
    endOf(0)?.()
    expect(ended).toEqual([])
  })

  test('that are closed are aborted, and the server is told, whether it can be or not', async () => {
    const { streams, sent, ended, signalOf, endOf } = begin(async ({ method }) => {
      if (method === 'notifications/cancelled') throw new Error('no server')
    })
    streams.open('one', {})
    streams.open('two', {})
    streams.close('one')
    endOf(0)?.()
    expect([signalOf(0)?.aborted, signalOf(1)?.aborted, ended]).toEqual([true, false, []])
    expect(sent[2]?.[0]).toEqual({ jsonrpc: '2.0', method: 'notifications/cancelled', params: { requestId: 'one' } })
  })

  test('are all aborted with the connection, and nobody is told', () => {
    const { streams, sent, ended, signalOf, endOf } = begin()
    streams.open('one', {})
    streams.open('two', {})
    streams.abortAll()
    endOf(0)?.()
    expect([signalOf(0)?.aborted, signalOf(1)?.aborted]).toEqual([true, true])
    expect([sent.length, ended]).toEqual([2, []])
  })
})
