import { describe, expect, onTestFinished, test, vi } from 'vitest'
import { Above, FakeTransport, type Loose, settled } from '../../../test/client/fixtures/fakeTransport.ts'
import { accept, call, done, form, inputRequired, layered } from '../../../test/client/fixtures/roundsClient.ts'
import { proves } from '../../../test/proves.ts'
import type { Answerers, Asked } from '../questions/answerer.ts'
import { rounds } from './layer.ts'
import { suspend, suspendedOf } from '../suspend/suspend.ts'

proves(
  'MRTR-8 MRTR-9 MRTR-10 MRTR-23 MRTR-25',
  'a retry is the first request again with a fresh id, the answers and the exact state, and its result is the caller’s',
  async () => {
    const { wire, above, last } = layered()
    await above.send(call(1))
    wire.say(inputRequired(1, { inputRequests: { name: form() }, requestState: 'é"\\\ud800 {}' }))
    await settled()
    expect(above.heard).toEqual([])
    expect(last()).toEqual({
      jsonrpc: '2.0',
      id: expect.any(String),
      method: 'tools/call',
      params: {
        name: 'tool',
        arguments: { a: 1 },
        inputResponses: { name: accept({ name: 'Ann' }) },
        requestState: 'é"\\\ud800 {}',
      },
    })
    expect(last().id).not.toBe(1)
    wire.say(done(last().id))
    expect(above.heard).toEqual([{ jsonrpc: '2.0', ...done(1) }])
  },
)

proves(
  'MRTR-11 MRTR-27',
  'a state and answers go into the next retry only, and a round without a state has none',
  async () => {
    const { wire, above, last } = layered()
    await above.send(call(1))
    wire.say(inputRequired(1, { inputRequests: { a: form() }, requestState: 'one' }))
    await settled()
    wire.say(inputRequired(last().id, { inputRequests: { b: form() } }))
    await settled()
    expect(last().params).not.toHaveProperty('requestState')
    expect(Object.keys(last().params?.['inputResponses'])).toEqual(['b'])
    wire.say(inputRequired(last().id, { requestState: 'three' }))
    await settled()
    expect(last().params).not.toHaveProperty('inputResponses')
    expect(last().params).toMatchObject({ requestState: 'three' })
    expect(new Set(wire.sent.map(({ id }) => id)).size).toBe(4)
  },
)

proves('MRTR-27', 'a call that brings answers and a state of its own repeats neither', async () => {
  const { wire, above, last } = layered()
  await above.send(call(1, { inputResponses: { old: accept() }, requestState: 'old' }))
  expect(last().params).toMatchObject({ requestState: 'old' })
  wire.say(inputRequired(1, { inputRequests: { next: form() } }))
  await settled()
  expect(last().params).toEqual({
    name: 'tool',
    arguments: { a: 1 },
    inputResponses: { next: accept({ name: 'Ann' }) },
  })
})

proves('MRTR-11', 'calls in parallel keep their own states and answers, in any order', async () => {
  const { wire, above } = layered({ form: ({ request }) => accept({ said: (request.params as Loose).message }) })
  const ids = Array.from({ length: 20 }, (_, id) => id)
  await Promise.all(ids.map((id) => above.send(call(id))))
  for (const id of ids.toReversed()) {
    wire.say(inputRequired(id, { inputRequests: { q: form(`question ${id}`) }, requestState: `state ${id}` }))
  }
  await settled()
  const legs = wire.sent.slice(20)
  expect(legs.map(({ params }) => [params?.['requestState'], params?.['inputResponses'].q.content.said])).toEqual(
    ids.toReversed().map((id) => [`state ${id}`, `question ${id}`]),
  )
  legs.forEach((leg, index) => wire.say(done(leg.id, `result ${index}`)))
  expect(above.heard.map(({ id, result }) => [id, result.content[0].text])).toEqual(
    ids.toReversed().map((id, index) => [id, `result ${index}`]),
  )
})

test('answerers are asked together, and told who asks and for which call', async () => {
  const asked: Asked[] = []
  const release: (() => void)[] = []
  const answer = (question: Asked) => {
    asked.push(question)
    return new Promise<Loose>((resolve) => release.push(() => resolve(accept())))
  }
  const { wire, above, last } = layered({ form: answer, url: answer }, { server: { target: 'https://a.example/' } })
  await above.send({ id: 0, method: 'initialize', params: { capabilities: {} } })
  wire.say({ id: 0, result: { serverInfo: { name: 'shop', version: '1' } } })
  await above.send(call(1))
  const visit = { method: 'elicitation/create', params: { mode: 'url', message: 'Go', url: 'https://b.example/' } }
  wire.say(inputRequired(1, { inputRequests: { a: form(), b: visit }, requestState: 's' }))
  await settled()
  expect(asked.map(({ key, call: about, server }) => [key, about, server])).toEqual([
    ['a', { method: 'tools/call', name: 'tool' }, { name: 'shop', target: 'https://a.example/' }],
    ['b', { method: 'tools/call', name: 'tool' }, { name: 'shop', target: 'https://a.example/' }],
  ])
  for (const each of release) each()
  await settled()
  expect(Object.keys(last().params?.['inputResponses'])).toEqual(['a', 'b'])
})

describe('what is declared', () => {
  const all: Answerers = { form: () => accept(), url: () => accept(), sampling: () => ({}), roots: () => ({}) }

  test('a legacy initialize gets rounds and the kinds there are answerers for, beside its own', async () => {
    const { above, last } = layered(all)
    await above.send({
      id: 0,
      method: 'initialize',
      params: { capabilities: { sampling: { tools: {} }, experimental: { x: {} } } },
    })
    expect(last().params?.['capabilities']).toEqual({
      elicitation: { form: {}, url: {} },
      sampling: { tools: {} },
      roots: {},
      experimental: { x: {}, 'dev.pannier/rounds': {} },
    })
  })

  test.each([
    [{}, { url: () => accept() }, { elicitation: { url: {} } }],
    [{ elicitation: {} }, { url: () => accept() }, { elicitation: { form: {}, url: {} } }],
    [{ elicitation: { url: {} } }, { form: () => accept() }, { elicitation: { url: {}, form: {} } }],
    [{ roots: { listChanged: true } }, {}, { roots: { listChanged: true } }],
  ])('%j', async (own, answerers, expected) => {
    const { above, last } = layered(answerers)
    await above.send({ id: 0, method: 'initialize', params: { capabilities: own } })
    const { experimental: _, ...declared } = last().params?.['capabilities'] ?? {}
    expect(declared).toEqual(expected)
  })

  test('an envelope gets the kinds, and nothing of sessions', async () => {
    const { above, last } = layered({ form: () => accept() })
    const capabilities = Object.freeze({})
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': capabilities,
    }
    await above.send({ id: 1, method: 'tools/list', params: { _meta } })
    expect(last().params?.['_meta']).toMatchObject({
      'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
    })
    expect(JSON.stringify(last())).not.toContain('dev.pannier')
  })
})

proves(
  'MRTR-24',
  'a round that asks nothing is repeated at once, then after growing pauses, and not for ever',
  async () => {
    vi.useFakeTimers()
    const { wire, above } = layered({}, { maxRounds: 4 })
    const at: number[] = []
    wire.react = ({ id }) => {
      at.push(Date.now())
      wire.say(inputRequired(id, { requestState: `after ${at.length}` }))
    }
    await above.send(call(1))
    await vi.runAllTimersAsync()
    vi.useRealTimers()
    const pauses = at.slice(1).map((time, index) => time - at[index]!)
    expect(pauses).toEqual([0, 25, 50, 100])
    expect(wire.sent.map(({ params }) => params?.['requestState'])).toEqual([
      undefined,
      'after 1',
      'after 2',
      'after 3',
      'after 4',
    ])
    expect(above.heard).toMatchObject([{ id: 1, error: { data: { code: 'ROUNDS_ENDLESS' } } }])
  },
)

test('who has answered hears nothing of how the call ends', async () => {
  const signals: AbortSignal[] = []
  const { wire, above, last } = layered({ form: ({ signal }) => (signals.push(signal), accept()) })
  await above.send(call(1))
  wire.say(inputRequired(1, { inputRequests: { q: form() } }))
  await settled()
  wire.say(done(last().id))
  await settled()
  expect(above.heard).toHaveLength(1)
  expect(signals.map(({ aborted }) => aborted)).toEqual([false])
})

test('a client that counts in strings gets its answers, too', async () => {
  const { wire, above, last } = layered()
  await above.send({ ...call(1), id: '7' })
  wire.say(inputRequired('7', { inputRequests: { q: form() } }))
  await settled()
  wire.say(done(last().id))
  expect(above.heard).toEqual([{ jsonrpc: '2.0', ...done('7') }])
})

describe('cancelling', () => {
  const cancel = { method: 'notifications/cancelled', params: { requestId: 1, reason: 'enough' } }

  test('reaches the first leg as it is', async () => {
    const { above, last } = layered()
    await above.send(call(1))
    await above.send(cancel)
    expect(last()).toEqual({ jsonrpc: '2.0', ...cancel })
  })

  test('a question that comes too late for a first leg is asked to nobody, and nothing more is sent', async () => {
    let asked = 0
    const { wire, above } = layered({ form: async () => ({ action: 'accept', content: { n: ++asked } }) })
    await above.send(call(1))
    await above.send(cancel)
    const sent = wire.sent.length
    wire.say(inputRequired(1, { inputRequests: { q: form() } }))
    await settled()
    expect([asked, wire.sent.length]).toEqual([0, sent])
  })

  test('a call is cancelled once, and its id may be used again', async () => {
    const { wire, above, last } = layered()
    await above.send(call(1))
    wire.say(inputRequired(1, { inputRequests: { q: form() } }))
    await settled()
    await above.send(cancel)
    await above.send(cancel)
    expect(last()).toEqual({ jsonrpc: '2.0', ...cancel })
    await above.send(call(1))
    wire.say(done(1))
    expect(above.heard).toEqual([{ jsonrpc: '2.0', ...done(1) }])
  })

  test('reaches a later leg by its own id, and its late answer reaches nobody', async () => {
    const { wire, above, last } = layered()
    await above.send(call(1))
    wire.say(inputRequired(1, { inputRequests: { q: form() } }))
    await settled()
    const leg = last().id
    await above.send(cancel)
    expect(last().params).toEqual({ requestId: leg, reason: 'enough' })
    wire.say(done(leg))
    expect(above.heard).toEqual([])
  })

  test.each(['by notification', 'by signal'])('ends the asking, and nothing more is sent: %s', async (way) => {
    const signals: AbortSignal[] = []
    const { wire, above } = layered({
      form: ({ signal }) => {
        signals.push(signal)
        return new Promise(() => undefined)
      },
    })
    const abort = new AbortController()
    await above.send(call(1), { requestSignal: abort.signal })
    wire.say(inputRequired(1, { inputRequests: { q: form() } }))
    await settled()
    if (way === 'by signal') abort.abort()
    else await above.send(cancel)
    await settled()
    expect(signals[0]?.aborted).toBe(true)
    expect(wire.sent).toHaveLength(1)
    expect(above.heard).toEqual([])
  })

  test('ends the pause of a round that asks nothing', async () => {
    vi.useFakeTimers()
    onTestFinished(() => void vi.useRealTimers())
    const { wire, above } = layered()
    wire.react = ({ id, method }) => {
      if (method === 'tools/call') wire.say(inputRequired(id, { requestState: 's' }))
    }
    await above.send(call(1))
    await vi.advanceTimersByTimeAsync(0)
    const before = wire.sent.length
    await above.send(cancel)
    await vi.advanceTimersByTimeAsync(10_000)
    expect(wire.sent.length).toBe(before)
    expect(above.heard).toEqual([])
  })

  test('the end of the connection ends the asking', async () => {
    const signals: AbortSignal[] = []
    const { wire, above } = layered({
      form: ({ signal }) => {
        signals.push(signal)
        return new Promise(() => undefined)
      },
    })
    await above.send(call(1))
    wire.say(inputRequired(1, { inputRequests: { q: form() } }))
    await settled()
    wire.onclose?.()
    expect(signals[0]?.aborted).toBe(true)
    expect(above.heard).toMatchObject([{ id: 1, error: { data: { code: 'STREAM_ENDED' } } }])
  })

  test('by this side, or with a request under way, is for the client and the transport to tell', async () => {
    const { wire, above } = layered({ form: () => new Promise(() => undefined) })
    await above.send(call(1))
    wire.onclose?.()
    await above.send(call(2))
    wire.say(inputRequired(2, { inputRequests: { q: form() } }))
    await above.transport.close()
    expect(above.heard).toEqual([])
  })
})

test('progress does not go back, though a later leg reports from the beginning again', async () => {
  const { above, wire, last } = layered()
  await above.send(call(1, { _meta: { progressToken: 1 } }))
  const progress = (...values: number[]) => {
    const progressToken: unknown = last().params?.['_meta'].progressToken
    for (const value of values)
      wire.say({ method: 'notifications/progress', params: { progressToken, progress: value } })
  }
  progress(1, 2)
  wire.say(inputRequired(1, { inputRequests: { q: form() } }))
  await settled()
  progress(1, 2, 3)
  expect(above.heard.map(({ params }) => params?.['progress'])).toEqual([1, 2, 3])
})

test('progress of each leg reaches the caller under its own token', async () => {
  const { wire, above, last } = layered()
  await above.send(call(1, { _meta: { progressToken: 1, mine: true } }))
  const progress = (progressToken: unknown, value: number) =>
    wire.say({ method: 'notifications/progress', params: { progressToken, progress: value } })
  progress(1, 10)
  wire.say(inputRequired(1, { inputRequests: { q: form() } }))
  await settled()
  const token = last().params?.['_meta'].progressToken
  expect(last().params?.['_meta']).toEqual({ mine: true, progressToken: last().id })
  progress(token, 20)
  wire.say(done(last().id))
  progress(token, 30)
  expect(above.heard.slice(0, 2).map(({ params }) => params)).toEqual([
    { progressToken: 1, progress: 10 },
    { progressToken: 1, progress: 20 },
  ])
  expect(above.heard).toHaveLength(3)
})

test('a later leg keeps the headers and the signal of the first, and not the stream it resumed', async () => {
  const { wire, above } = layered()
  const { signal } = new AbortController()
  const onresumptiontoken = () => undefined
  await above.send(call(1), { headers: { a: 'b' }, requestSignal: signal, resumptionToken: 't', onresumptiontoken })
  wire.say(inputRequired(1, { inputRequests: { q: form() } }))
  await settled()
  expect(wire.options[0]).toMatchObject({ resumptionToken: 't' })
  expect(wire.options[1]).toMatchObject({ headers: { a: 'b' }, requestSignal: signal, onresumptiontoken })
  expect(wire.options[1]?.['resumptionToken']).toBeUndefined()
})

test('requests of another layer above are answered, and their progress is told', async () => {
  const { wire, above } = layered()
  const [answer, progress] = [done('pannier-1'), { progressToken: 'pannier-1', progress: 1 }]
  await above.send({ id: 'pannier-1', method: 'server/discover' })
  wire.say({ method: 'notifications/progress', params: progress })
  wire.say(answer)
  expect(above.heard).toMatchObject([{ params: progress }, answer])
})

test('what is not for this layer passes as it is', async () => {
  const { wire, above, last } = layered()
  const request = { jsonrpc: '2.0', id: 5, method: 'tools/list' }
  await above.transport.send(request)
  expect(last()).toBe(request)
  const messages = [
    done(7),
    { id: 5, result: { tools: [] } },
    { id: 8, error: { code: -1, message: 'no' } },
    { method: 'notifications/message', params: {} },
    { method: 'notifications/cancelled', params: { requestId: 99 } },
    { id: 'ping', method: 'ping' },
    { id: 's', method: 'sampling/createMessage', params: { messages: [] } },
  ]
  for (const message of messages) wire.say(message)
  expect(above.heard).toEqual(messages.map((message) => ({ jsonrpc: '2.0', ...message })))
  await above.send(call(1))
  const task = { id: 1, result: { resultType: 'task', taskId: 't' } }
  wire.say(task)
  expect(above.heard.at(-1)).toEqual({ jsonrpc: '2.0', ...task })
})

describe('an answerer', () => {
  test('that fails ends the others and the call, and its error is in the answer', async () => {
    const failure = new Error('no screen')
    const signals: AbortSignal[] = []
    const { wire, above } = layered({
      form: () => Promise.reject(failure),
      url: ({ signal }) => {
        signals.push(signal)
        return new Promise((resolve) => signal.addEventListener('abort', () => resolve({ action: 'cancel' })))
      },
    })
    await above.send(call(1))
    const visit = { method: 'elicitation/create', params: { mode: 'url', message: 'Go', url: 'https://b.example/' } }
    wire.say(inputRequired(1, { inputRequests: { a: visit, b: form() }, requestState: 's' }))
    await settled()
    expect(above.heard).toMatchObject([{ id: 1, error: { data: { code: 'ANSWER_FAILED', cause: failure } } }])
    expect(signals[0]?.aborted).toBe(true)
    expect(wire.sent).toHaveLength(1)
  })

  test('that gives something else than an answer fails the call', async () => {
    const { wire, above } = layered({ form: () => ({ action: 'perhaps' }) })
    await above.send(call(1))
    wire.say(inputRequired(1, { inputRequests: { a: form() } }))
    await settled()
    expect(above.heard).toMatchObject([{ id: 1, error: { data: { code: 'RESPONSE_INVALID' } } }])
  })

  test('that suspends ends the call with a saved one, and with what the others answered', async () => {
    const { wire, above } = layered(
      { form: suspend(), roots: () => ({ roots: [] }) },
      { server: { target: 'https://a.example/' } },
    )
    await above.send(call(1))
    const inputRequests = { a: form(), r: { method: 'roots/list' } }
    wire.say(inputRequired(1, { inputRequests, requestState: 'exact' }))
    await settled()
    expect(above.heard).toMatchObject([{ id: 1, result: { resultType: 'complete' } }])
    expect(suspendedOf(above.heard[0].result)?.saved).toMatchObject({
      method: 'tools/call',
      target: 'https://a.example/',
      params: { name: 'tool', arguments: { a: 1 } },
      inputRequests: { a: form() },
      inputResponses: { r: { roots: [] } },
      requestState: 'exact',
    })
    expect(wire.sent).toHaveLength(1)
  })
})

test('a later leg that cannot be sent fails the call, with the cause', async () => {
  const { wire, above } = layered()
  await above.send(call(1))
  const cause = new Error('down')
  wire.react = () => Promise.reject(cause)
  wire.say(inputRequired(1, { inputRequests: { q: form() } }))
  await settled()
  expect(above.heard).toMatchObject([{ id: 1, error: { data: { code: 'ROUND_UNSENT', cause } } }])
})

test('a process that has ended gets no leg again', async () => {
  const wire = Object.assign(new FakeTransport(), { pid: 1, stderr: null })
  const above = new Above(rounds({ answerers: { form: () => accept() } })(wire))
  await above.send(call(1))
  wire.react = () => Promise.reject(Object.assign(new Error('gone'), { code: 'EPIPE' }))
  wire.say(inputRequired(1, { inputRequests: { q: form() } }))
  await settled()
  expect(above.heard).toMatchObject([{ id: 1, error: { data: { code: 'ROUND_UNSENT' } } }])
})

test('a leg that reached nobody goes again, with its own progress token, and only its answer counts', async () => {
  const { wire, above, last } = layered()
  await above.send(call(1, { _meta: { progressToken: 7 } }))
  // The status as version 1 of the SDK has it.
  wire.react = () => Promise.reject(Object.assign(new Error('Bad Gateway'), { code: 502 }))
  wire.say(inputRequired(1, { inputRequests: { q: form() }, requestState: 's' }))
  await settled()
  const lost = last()
  wire.react = undefined
  await vi.waitFor(() => expect(wire.sent).toHaveLength(3))
  const { id, params } = last()
  expect(id).not.toBe(lost.id)
  expect(params).toEqual({ ...lost.params, _meta: { progressToken: id } })
  wire.say(done(lost.id, 'late'))
  wire.say({ method: 'notifications/progress', params: { progressToken: id, progress: 1 } })
  wire.say(done(id))
  expect(above.heard).toMatchObject([{ params: { progressToken: 7, progress: 1 } }, done(1)])
})

test('a connection that ends before a leg goes again ends the call', async () => {
  const { wire, above } = layered()
  await above.send(call(1))
  wire.react = () => Promise.reject(new TypeError('fetch failed'))
  wire.say(inputRequired(1, { inputRequests: { q: form() } }))
  await settled()
  wire.onclose?.()
  await settled()
  expect(above.heard).toMatchObject([{ id: 1, error: { data: { code: 'STREAM_ENDED' } } }])
})

test('a first leg that cannot be sent rejects as it would without the layer', async () => {
  const { wire, above } = layered()
  wire.react = () => Promise.reject(new Error('down'))
  await expect(above.send(call(1))).rejects.toThrow('down')
})

describe('a client that has handlers of its own', () => {
  test('in a session, it is asked by a request what it declared and no answerer has', async () => {
    const { wire, above, last } = layered({})
    await above.send({ id: 0, method: 'initialize', params: { capabilities: { elicitation: {} } } })
    await above.send(call(1))
    wire.say(inputRequired(1, { inputRequests: { q: form() }, requestState: 's' }))
    await settled()
    const [question] = above.heard
    expect(question).toMatchObject(form())
    await above.send({ id: question.id, result: accept({ name: 'Bob' }) })
    await settled()
    expect(last().params).toMatchObject({ inputResponses: { q: accept({ name: 'Bob' }) }, requestState: 's' })
  })

  test('its own error fails the call, and a cancelled call takes the question back', async () => {
    const { wire, above } = layered({})
    await above.send({ id: 0, method: 'initialize', params: { capabilities: { elicitation: {} } } })
    await above.send(call(1))
    await above.send(call(2))
    for (const id of [1, 2]) wire.say(inputRequired(id, { inputRequests: { q: form() } }))
    await settled()
    const [first, second] = above.heard
    await above.send({ id: first.id, error: { code: -1, message: 'no' } })
    await above.send({ method: 'notifications/cancelled', params: { requestId: 2 } })
    await settled()
    expect(above.heard.slice(2)).toMatchObject([
      { method: 'notifications/cancelled', params: { requestId: second.id } },
      { id: 1, error: { data: { code: 'ANSWER_FAILED' } } },
    ])
    expect(wire.sent.filter(({ method }) => method === undefined)).toEqual([])
  })

  test('in the stateless revision, it gets the result as it came', async () => {
    const { wire, above } = layered({ form: () => accept() })
    const _meta = {
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': { roots: {} },
    }
    await above.send(call(1, { _meta }))
    const result = inputRequired(1, { inputRequests: { r: { method: 'roots/list' } }, requestState: 's' })
    wire.say(result)
    await settled()
    expect(above.heard).toEqual([{ jsonrpc: '2.0', ...result }])
  })

  describe('in the stateless revision, of a round with questions of both', () => {
    const roots = { method: 'roots/list' }
    const envelope = (capabilities: object) => ({
      'io.modelcontextprotocol/protocolVersion': '2026-07-28',
      'io.modelcontextprotocol/clientCapabilities': capabilities,
    })
    const both = { inputRequests: { q: form(), r: roots } }

    test.each(['é"\\\ud800 {}', undefined])('it gets its own, and the server gets all answers: %j', async (state) => {
      const { wire, above, last } = layered()
      await above.send(call(1, { _meta: envelope({ roots: {} }) }))
      wire.say(inputRequired(1, { ...both, ...(state !== undefined && { requestState: state }) }))
      await settled()
      const [{ id, result }] = above.heard
      expect(id).toBe(1)
      expect(result).toMatchObject({ resultType: 'input_required', inputRequests: { r: roots } })
      expect(Object.keys(result.inputRequests)).toEqual(['r'])
      const { requestState } = result
      await above.send(call(2, { _meta: envelope({ roots: {} }), inputResponses: { r: { roots: [] } }, requestState }))
      expect(last().id).toBe(2)
      expect(last().params?.['inputResponses']).toEqual({ q: accept({ name: 'Ann' }), r: { roots: [] } })
      expect(last().params?.['requestState']).toBe(state)
      wire.say(done(2))
      expect(above.heard[1]).toEqual({ jsonrpc: '2.0', ...done(2) })
    })

    test('it gets all where it declared only a part of the rest, and nobody is asked in vain', async () => {
      const asked = vi.fn(() => accept())
      const { wire, above } = layered({ form: asked })
      await above.send(call(1, { _meta: envelope({}) }))
      const result = inputRequired(1, both)
      wire.say(result)
      await settled()
      expect(above.heard).toEqual([{ jsonrpc: '2.0', ...result }])
      expect(asked).not.toHaveBeenCalled()
    })

    test('a call that is suspended takes along what the client would have been asked', async () => {
      const { wire, above } = layered({ form: suspend() })
      await above.send(call(1, { _meta: envelope({ roots: {} }) }))
      wire.say(inputRequired(1, { ...both, requestState: 's' }))
      await settled()
      const saved = suspendedOf(above.heard[0].result)?.saved
      expect(saved).toMatchObject({ inputRequests: both.inputRequests, inputResponses: {}, requestState: 's' })
    })

    test('a cancelled call ends the asking, and the client hears nothing', async () => {
      const signals: AbortSignal[] = []
      const { wire, above } = layered({
        form: ({ signal }) => {
          signals.push(signal)
          return new Promise(() => undefined)
        },
      })
      await above.send(call(1, { _meta: envelope({ roots: {} }) }))
      wire.say(inputRequired(1, both))
      await settled()
      await above.send({ method: 'notifications/cancelled', params: { requestId: 1 } })
      await settled()
      expect(signals).toMatchObject([{ aborted: true }])
      expect(above.heard).toEqual([])
    })
  })
})

test('a result that came by a retry says that it must not be kept', async () => {
  const { wire, above, last } = layered()
  const read = { id: 1, method: 'resources/read', params: { uri: 'docs://a' } }
  const contents = { contents: [], ttlMs: 60_000, cacheScope: 'public' }
  await above.send(read)
  wire.say({ id: 1, result: contents })
  await above.send({ ...read, id: 2 })
  wire.say(inputRequired(2, { inputRequests: { q: form() } }))
  await settled()
  wire.say({ id: last().id, result: contents })
  expect(above.heard.map(({ result }) => result.ttlMs)).toEqual([60_000, 0])
})
