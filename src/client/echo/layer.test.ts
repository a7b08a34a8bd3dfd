import fc from 'fast-check'
import { describe, expect, test } from 'vitest'
import { Above, FakeTransport } from '../../../test/client/fixtures/fakeTransport.ts'
import { proves } from '../../../test/proves.ts'
import { echo, echoLines } from './layer.ts'
import { echoFetch } from './fetch.ts'

const question = (id: number | string, state?: string) =>
  `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"method":"elicitation/create","params":{"state":"not this"}${state === undefined ? '' : `,"state":${state}`}}`
const answer = (id: number | string) => `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"action":"decline"}}`
/** The lines of a process that was told that a state may stand there. */
const declaredLines = () => {
  const lines = echoLines()
  lines.outgoing('{"jsonrpc":"2.0","id":0,"method":"initialize","params":{"capabilities":{}}}')
  return lines
}
const stateIn = (text: string) => /,"state":(.*)\}$/s.exec(text)?.[1]

describe('on lines', () => {
  proves('ST-2 ST-4 ST-5', 'a state comes back character for character, whatever it is', () => {
    const states = [
      '"plain"',
      '"\\u00e9\\ud800 \\"}{"',
      '{ "b": 1, "a": [1.0, 12345678901234567890, 1e400], "b": 2, "__proto__": {} }',
      '{}',
      'null',
      'false',
      '""',
    ]
    for (const state of states) {
      const lines = declaredLines()
      expect(JSON.parse(lines.incoming(question(1, state)))).toEqual(JSON.parse(question(1)))
      expect(stateIn(lines.outgoing(answer(1)))).toBe(state)
    }
    fc.assert(
      fc.property(fc.json(), (state) => {
        const lines = declaredLines()
        lines.incoming(question(1, state))
        expect(stateIn(lines.outgoing(answer(1)))).toBe(state)
      }),
    )
  })

  proves('ST-6', 'an answer to a request without a state has none, also when another under its id had one', () => {
    const lines = declaredLines()
    lines.incoming(question(1))
    expect(lines.outgoing(answer(1))).toBe(answer(1))
    lines.incoming(question(2, '"old"'))
    lines.incoming(question(2))
    expect(lines.outgoing(answer(2))).toBe(answer(2))
    lines.incoming(question(3, '"taken back"'))
    lines.incoming('{"jsonrpc":"2.0","method":"notifications/cancelled","params":{"requestId":3}}')
    expect(lines.outgoing(answer(3))).toBe(answer(3))
    lines.incoming(question(4, '"once"'))
    lines.outgoing(answer(4))
    expect(lines.outgoing(answer(4))).toBe(answer(4))
  })

  proves('ST-4', 'each of many open requests gets its own state, and 1 is not "1"', () => {
    const lines = declaredLines()
    const ids = [1, '1', 2, 'a', 'é', 3]
    for (const id of ids) lines.incoming(question(id, JSON.stringify(`state of ${typeof id} ${id}`)))
    for (const id of ids.toReversed()) {
      expect(stateIn(lines.outgoing(answer(id)))).toBe(JSON.stringify(`state of ${typeof id} ${id}`))
    }
  })

  test('an id is the same however it is written', () => {
    const lines = declaredLines()
    lines.incoming('{"jsonrpc":"2.0","id":"\\u0061","method":"ping","state":"s"}')
    expect(stateIn(lines.outgoing(answer('a')))).toBe('"s"')
  })

  test('however often a server writes "state", it is taken out in one go, and the last one counts', () => {
    const lines = declaredLines()
    const line = `{"jsonrpc":"2.0","id":1,"method":"ping"${',"state":0'.repeat(100_000)},"state":1}`
    expect(lines.incoming(line)).toBe('{"jsonrpc":"2.0","id":1,"method":"ping"}')
    expect(stateIn(lines.outgoing(answer(1)))).toBe('1')
  })

  test.each([
    '{"\\q":1,"state":1}',
    '{"method":"notifications/cancelled","params":{x},"state":1}',
    '{"id":1,"method":"ping","state":',
    '{"id":nonsense,"method":"ping","state":1}',
  ])('a line that is no JSON passes as it is: %s', (line) => {
    expect(declaredLines().incoming(line)).toBe(line)
  })

  test('an error takes its state along', () => {
    const lines = declaredLines()
    lines.incoming(question(1, '"s"'))
    expect(JSON.parse(lines.outgoing('{"jsonrpc":"2.0","id":1,"error":{"code":-1,"message":"no"}}')).state).toBe('s')
  })

  test.each([
    '{"jsonrpc":"2.0","id":1,"result":{"state":"x"},"state":"on an answer"}',
    '{"jsonrpc":"2.0","method":"notifications/message","state":"on a notification"}',
    'not JSON "state"',
    '["state"]',
  ])('what is no request of a server passes: %s', (text) => {
    const lines = declaredLines()
    expect(lines.incoming(text)).toBe(text)
    expect(lines.outgoing(answer(1))).toBe(answer(1))
  })

  test('initialize says where a state may stand, and other requests say nothing', () => {
    const { outgoing } = declaredLines()
    const initialize = { jsonrpc: '2.0', id: 0, method: 'initialize', params: { capabilities: { roots: {} } } }
    expect(JSON.parse(outgoing(JSON.stringify(initialize))).params.capabilities).toEqual({
      roots: {},
      experimental: { 'dev.pannier/state-echo': { at: ['top'] } },
    })
    const call = '{"method":"tools/call","params":{"name":"initialize","arguments":{"a":"\\"initialize\\""}}}'
    expect(outgoing(call)).toBe(call)
  })

  test('more state than a server may have kept drops the oldest, and the answers go without', () => {
    const lines = declaredLines()
    for (let id = 0; id <= 1_000; id++) lines.incoming(question(id, '"s"'))
    expect(stateIn(lines.outgoing(answer(0)))).toBeUndefined()
    expect(stateIn(lines.outgoing(answer(1_000)))).toBe('"s"')
    const large = JSON.stringify('x'.repeat(10 * 1024 * 1024))
    for (let id = 0; id < 4; id++) lines.incoming(question(`large ${id}`, large))
    expect(stateIn(lines.outgoing(answer('large 0')))).toBeUndefined()
    expect(stateIn(lines.outgoing(answer('large 3')))).toBe(large)
  })
})

describe('around fetch', () => {
  const sse = (...messages: string[]) =>
    new Response(messages.map((data, index) => `id: e${index}\nevent: message\ndata: ${data}\n\n`).join(''), {
      headers: { 'content-type': 'text/event-stream' },
    })
  const json = (text: string) => new Response(text, { headers: { 'content-type': 'application/json; charset=utf-8' } })

  function fetching(reply: (body: string | undefined, url: string) => Response) {
    const bodies: (string | undefined)[] = []
    const seam = echoFetch(async (url, init) => {
      bodies.push(init?.body as string | undefined)
      return reply(init?.body as string | undefined, String(url))
    })
    const post = (body: string, headers: Record<string, string> = {}, url = 'https://a.example/mcp') =>
      seam(url, { method: 'POST', headers, body })
    return { bodies, post }
  }

  proves('ST-4', 'a state from a stream goes with the answer that is posted', async () => {
    const { bodies, post } = fetching((body) =>
      body?.includes('tools/call') ? sse(question('q', '{"a":1.0}'), answer(1)) : new Response(null, { status: 202 }),
    )
    const text = await (await post('{"id":1,"method":"tools/call"}')).text()
    expect(text).not.toContain('1.0')
    expect(text).toContain('id: e0')
    await post(answer('q'))
    expect(stateIn(bodies.at(-1)!)).toBe('{"a":1.0}')
  })

  test('a body of JSON is no request of the server, and passes as it is', async () => {
    const response = json('{"jsonrpc":"2.0","id":1,"result":{},"state":"s"}')
    const { bodies, post } = fetching(() => response)
    expect(await post('{"id":1,"method":"tools/call"}')).toBe(response)
    await post(answer(1))
    expect(bodies.at(-1)).toBe(answer(1))
  })

  test('an answer that is refused and sent again has its state again', async () => {
    let refuse = true
    const { bodies, post } = fetching((body) => {
      if (body?.includes('tools/call')) return sse(question('q', '"s"'))
      return new Response(null, { status: refuse ? 401 : 202 })
    })
    await (await post('{"id":1,"method":"tools/call"}')).text()
    await post(answer('q'))
    refuse = false
    await post(answer('q'))
    await post(answer('q'))
    expect(bodies.slice(1).map((body) => stateIn(body!))).toEqual(['"s"', '"s"', undefined])
  })

  proves('ST-6', 'servers and sessions that use the same ids get their own states', async () => {
    const { bodies, post } = fetching((body, url) =>
      body?.includes('tools/call')
        ? sse(question('q', JSON.stringify(`of ${url} ${body}`)))
        : new Response(null, { status: 202 }),
    )
    const callers = [
      ['https://a.example/', 's1'],
      ['https://a.example/', 's2'],
      ['https://b.example/', 's1'],
    ] as const
    for (const [url, session] of callers) {
      const called = await post(`{"id":1,"method":"tools/call","x":"${session}"}`, { 'mcp-session-id': session }, url)
      await called.text()
    }
    for (const [url, session] of callers) {
      await post(answer('q'), { 'mcp-session-id': session }, url)
      expect(stateIn(bodies.at(-1)!)).toContain(`of ${url} `)
      expect(stateIn(bodies.at(-1)!)).toContain(session)
    }
    await post(answer('q'), {}, 'https://c.example/')
    expect(bodies.at(-1)).toBe(answer('q'))
  })

  test('the stateless revision passes as it is', async () => {
    const response = json(question('q', '"s"'))
    const { post } = fetching(() => response)
    expect(await post('{"method":"initialize"}', { 'mcp-method': 'tools/call' })).toBe(response)
  })
})

describe('in _meta', () => {
  function layered() {
    const wire = new FakeTransport()
    return { wire, above: new Above(echo()(wire)) }
  }
  const asked = (id: unknown, state?: unknown) => ({
    id,
    method: 'roots/list',
    ...(state !== undefined && { params: { _meta: { 'dev.pannier/state': state, other: 1 } } }),
  })

  proves('ST-4 ST-6', 'a state in _meta comes back in the _meta of the matching result, and nowhere else', async () => {
    const { wire, above } = layered()
    const state = { deep: [1, { two: null }] }
    wire.say(asked('a', 'text'))
    wire.say(asked('b', state))
    wire.say(asked('c'))
    await above.send({ id: 'b', result: { roots: [], _meta: { mine: true } } })
    await above.send({ id: 'a', result: { roots: [] } })
    await above.send({ id: 'c', result: { roots: [] } })
    expect(wire.sent.map(({ result }) => result._meta)).toEqual([
      { mine: true, 'dev.pannier/state': state },
      { 'dev.pannier/state': 'text' },
      undefined,
    ])
    expect(wire.sent[0]?.result._meta['dev.pannier/state']).toBe(state)
  })

  test('an error, and an answer to a question that was taken back, go without', async () => {
    const { wire, above } = layered()
    wire.say(asked('a', 'text'))
    wire.say(asked('b', 'text'))
    wire.say({ method: 'notifications/cancelled', params: { requestId: 'b' } })
    await above.send({ id: 'a', error: { code: -1, message: 'no' } })
    await above.send({ id: 'b', result: {} })
    expect(JSON.stringify(wire.sent)).not.toContain('text')
  })

  test('initialize says that _meta is the place', async () => {
    const { wire, above } = layered()
    await above.send({ id: 0, method: 'initialize', params: { capabilities: {} } })
    expect(wire.sent[0]?.params?.['capabilities']).toEqual({
      experimental: { 'dev.pannier/state-echo': { at: ['meta'] } },
    })
  })
})
