/** What servers send has limits of depth, size and number; whoever exceeds them hurts their own calls alone. */
import { expect, onTestFinished, test, vi } from 'vitest'
import { isLong } from '../amount.ts'
import { call as callTool, type Wire } from '../fixtures/modernClient.ts'
import { RawSession } from '../interop/fixtures/rawSession.ts'
import { startGatewayProcess } from './fixtures/gatewayProcess.ts'
import { startGateway } from './fixtures/gateways.ts'
import { event, said, type ScriptedRequest, sessionScript, stream } from './fixtures/sessionScript.ts'
import { statelessRequest } from './fixtures/statelessRequest.ts'
import { json, ScriptedServer } from './fixtures/statelessServers.ts'
import { WORKERS, workersOf } from './fixtures/workers.ts'

const CAN = { elicitation: {}, sampling: {}, roots: {} }
const nested = (levels: number): string => '{"a":'.repeat(levels) + '1' + '}'.repeat(levels)
const DEEP = nested(5000)

/** The text of a question of a session-era server whose schema nests this deep. */
const deepQuestion = (method: string): string =>
  `{"jsonrpc":"2.0","id":"q","method":${JSON.stringify(method)},"params":{"message":"Deep?","messages":[],"maxTokens":1,"requestedSchema":{"type":"object","properties":${DEEP}}}}`

test.each(['elicitation/create', 'sampling/createMessage'])(
  'a question of a session-era server that nests too deep is refused there, and hurts no client: %s',
  async (method) => {
    const answers: Wire[] = []
    const server = await sessionScript({
      first: ({ message }) => void (message.method === undefined && message.id === 'q' && answers.push(message)),
      call: async ({ message }, res) => {
        stream(res).write(`data: ${deepQuestion(method)}\n\n`)
        await vi.waitFor(() => expect(answers).toHaveLength(1))
        res.end(event({ id: message.id, result: said('unanswered') }))
      },
    })
    const { url } = await startGateway({ it: { url: server.url, pannier: { state: 'stateful' } } })
    const session = await RawSession.begin(url, { capabilities: CAN })
    const messages = await (await session.call('it_go')).rest()
    expect(messages).toMatchObject([{ result: said('unanswered') }])
    expect(answers[0].error.message).toContain('nests deeper than 128 levels')
  },
)

const INVALID = { data: { code: 'BACKEND_INVALID', server: 'it' } }
const idIn = ({ body }: { body: Buffer }): unknown => JSON.parse(body.toString()).id

/** The longest text that was parsed, of those that begin so. */
function longestParsed(isMeant: (text: string) => boolean): () => number {
  const parse = vi.spyOn(JSON, 'parse')
  onTestFinished(() => parse.mockRestore())
  return () => Math.max(0, ...parse.mock.calls.map(([text]) => (isMeant(text) ? text.length : 0)))
}

/** A process that answers each request with what is written here: an expression over its `message`, as text. */
const stdioServer = (answer: string) => {
  const program = `
    const reply = (id, result) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, result }) + '\\n')
    const RESULTS = { initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'raw', version: '1' } },
      'tools/list': { tools: [{ name: 'go', inputSchema: { type: 'object' } }] } }
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const message = JSON.parse(line)
      if (message.id === undefined || message.method === undefined) return
      if (message.method === 'server/discover') return process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id: message.id, error: { code: -32601, message: 'No.' } }) + '\\n')
      if (RESULTS[message.method]) return reply(message.id, RESULTS[message.method])
      process.stdout.write(${answer} + '\\n')
    })`
  return { command: process.execPath, args: ['-e', program], pannier: { state: 'stateful' } }
}

/** A server that answers its one tool with this text in the place of a result, or of an error. */
type Answering = (member: 'result' | 'error', text: string) => Promise<object>

const asJson = (id: unknown, member: string, text: string): string =>
  `{"${member}":${text},"jsonrpc":"2.0","id":${JSON.stringify(id)}}`

const SERVERS: readonly (readonly [string, Answering])[] = [
  [
    'a session, JSON',
    async (member, text) => {
      const call = ({ message }: ScriptedRequest, res: Wire) =>
        res.writeHead(200, { 'content-type': 'application/json' }).end(asJson(message.id, member, text))
      return { url: (await sessionScript({ call })).url, pannier: { state: 'stateful' } }
    },
  ],
  [
    'a session, a stream',
    async (member, text) => {
      const call = ({ message }: ScriptedRequest, res: Wire) =>
        stream(res).end(`data: ${asJson(message.id, member, text)}\n\n`)
      return { url: (await sessionScript({ call })).url, pannier: { state: 'stateful' } }
    },
  ],
  [
    'stateless, JSON',
    async (member, text) => {
      const server = await new ScriptedServer().start()
      server.answer = (received) => json(received.res, Buffer.from(asJson(idIn(received), member, text)))
      return server.entry()
    },
  ],
  [
    'stateless, a stream',
    async (member, text) => {
      const server = await new ScriptedServer().start()
      server.answer = (received) => stream(received.res).end(`data: ${asJson(idIn(received), member, text)}\n\n`)
      return server.entry()
    },
  ],
  [
    'a process',
    async (member, text) => {
      const isWide = text.startsWith('{"content":[{}')
      const made = isWide ? `'{"content":[' + '{},'.repeat(${(text.length - 15) / 3}) + '{}]}'` : JSON.stringify(text)
      return stdioServer(`'{"${member}":' + ${made} + ',"jsonrpc":"2.0","id":' + message.id + '}'`)
    },
  ],
]
const toolAt = (kind: string): string => (kind.startsWith('stateless') ? 'it_thing' : 'it_go')

test.each(SERVERS)('an answer of too many values is refused before it is parsed: %s', async (kind, serving) => {
  const wide = `{"content":[${'{},'.repeat(500_000)}{}]}`
  const { url } = await startGateway({ it: await serving('result', wide) })
  const parsed = longestParsed((text) => text.includes('{},{},{}'))
  const { message } = await callTool(url, toolAt(kind))
  expect(message.error).toMatchObject(INVALID)
  expect(message.error.message).toMatch(/more than 80\d{3} keys and values.*raise its maxResultBytes/)
  expect(parsed()).toBe(0)
})

test.each(SERVERS)('an answer of too many bytes is refused before it is parsed: %s', async (kind, serving) => {
  const long = `{"content":[{"type":"text","text":"${'x'.repeat(17 * 1024 * 1024)}"}]}`
  const entry =
    kind === 'a process'
      ? stdioServer(
          `JSON.stringify({ jsonrpc: '2.0', id: message.id, result: { content: [{ type: 'text', text: 'x'.repeat(17 * 1024 * 1024) }] } })`,
        )
      : await serving('result', long)
  const { url } = await startGateway({ it: entry })
  const parsed = longestParsed((text) => text.includes('xxxxxxxx'))
  const { message } = await callTool(url, toolAt(kind))
  expect(message.error).toMatchObject(INVALID)
  expect(message.error.message).toContain('raise its maxResultBytes')
  expect(parsed()).toBe(0)
})

const MIB = 1024 * 1024

const SIZES = isLong ? [17, 66] : [17]

test.each(SERVERS.flatMap(([kind, serving]) => SIZES.map((size) => [kind, size, serving] as const)))(
  'a larger answer is passed on where maxResultBytes allows it: %s, %i MiB',
  async (kind, size, serving) => {
    const text = (content: string) => `{"content":[{"type":"text","text":${content}}]}`
    const entry: Wire =
      kind === 'a process'
        ? stdioServer(
            `'{"jsonrpc":"2.0","id":' + message.id + ',"result":${text(`"' + 'x'.repeat(${size * MIB}) + '"`)}}'`,
          )
        : await serving('result', text(`"${'x'.repeat(size * MIB)}"`))
    const pannier = { ...entry.pannier, maxResultBytes: (size + 1) * MIB }
    const { url } = await startGateway({ it: { ...entry, pannier } })
    const { message } = await callTool(url, toolAt(kind))
    expect(message.error).toBeUndefined()
    expect(message.result.content[0].text).toHaveLength(size * MIB)
  },
)

test('an answer of a process that is longer than any message ends its call', async () => {
  const { url } = await startGateway({
    it: stdioServer(
      `'{"jsonrpc":"2.0","result":{"content":[{"type":"text","text":"' + 'x'.repeat(70 * 1024 * 1024) + '"}]},"id":' + message.id + '}'`,
    ),
  })
  const { message } = await callTool(url, 'it_go')
  expect(message.error).toMatchObject(INVALID)
  expect(message.error.message).toContain('longer than 16842752 bytes')
})

const MANY_ONES = `[${'1,'.repeat(100_000)}1]`

test.each([400, 500])(
  'an error of too many values is refused before it is parsed, with the status %i',
  async (status) => {
    const error = `{"code":-32000,"message":"No.","data":${MANY_ONES}}`
    const refuse = (res: Wire, id: unknown): void =>
      res.writeHead(status, { 'content-type': 'application/json' }).end(asJson(id, 'error', error))
    const session = await sessionScript({ call: ({ message }, res) => refuse(res, message.id) })
    const stateless = await new ScriptedServer().start()
    stateless.answer = (received) => refuse(received.res, idIn(received))
    const { url } = await startGateway({
      it: { url: session.url, pannier: { state: 'stateful' } },
      other: stateless.entry(),
    })
    const parsed = longestParsed((text) => text.includes('1,1,1,1'))
    for (const tool of ['it_go', 'other_thing']) {
      const { message } = await callTool(url, tool)
      expect(message.error.data).toMatchObject({ code: 'BACKEND_INVALID' })
      expect(message.error.message).toContain('more than 80312 keys and values')
    }
    expect(parsed()).toBe(0)
  },
)

test('what a process writes before its first message is not parsed where it is too large', async () => {
  const first = `process.stdout.write('{"jsonrpc":"1.0","a":[' + '1,'.repeat(100_000) + '1]}\\n')`
  const { args, ...entry } = stdioServer(`JSON.stringify({ jsonrpc: '2.0', id: message.id, result: { content: [] } })`)
  const parsed = longestParsed((text) => text.includes('1,1,1,1'))
  const { url } = await startGateway({ it: { ...entry, args: ['-e', `${first};${args[1]}`] } })
  expect((await callTool(url, 'it_go')).message.result).toMatchObject({ content: [] })
  expect(parsed()).toBe(0)
})

test('an answer of too many values is refused before it is parsed: HTTP+SSE of 2024-11-05', async () => {
  const wide = `{"content":[${'{},'.repeat(100_000)}{}]}`
  let events: Wire
  const server = await sessionScript({
    first: ({ method, message }, res) => {
      if (method === 'GET') {
        events = stream(res, 'event: endpoint\ndata: /mcp\n\n')
        return true
      }
      if (message.method === 'tools/call') events.write(`data: ${asJson(message.id, 'result', wide)}\n\n`)
      else if (message.id !== undefined)
        events.write(event({ id: message.id, result: OLD[String(message.method)] ?? {} }))
      res.writeHead(202).end()
      return true
    },
  })
  const { url } = await startGateway({ it: { url: server.url, type: 'sse', pannier: { state: 'stateful' } } })
  const parsed = longestParsed((text) => text.includes('{},{},{}'))
  const { message } = await callTool(url, 'it_go')
  expect(message.error.message).toContain('more than 80312 keys and values')
  expect(parsed()).toBe(0)
})

const OLD: Readonly<Record<string, object>> = {
  initialize: { protocolVersion: '2024-11-05', capabilities: { tools: {} }, serverInfo: { name: 'old', version: '1' } },
  'tools/list': { tools: [{ name: 'go', inputSchema: { type: 'object' } }] },
}

test.each(SERVERS)('the data of an error that nests too deep is refused: %s', async (kind, serving) => {
  const { url } = await startGateway({ it: await serving('error', `{"code":-32000,"message":"Deep.","data":${DEEP}}`) })
  for (const at of [await callTool(url, toolAt(kind)), await inSession(url, toolAt(kind))]) {
    expect(at.status).toBe(200)
    expect(at.message.error).toMatchObject(INVALID)
    expect(at.message.error.message).toContain('nests deeper than 128 levels')
  }
})

/** More chunks of a byte each than a message may have, and then an answer that is not too large. */
function inCrumbs(res: Wire, type: string, crumb: string, answer: string): void {
  res.writeHead(200, { 'content-type': type, 'transfer-encoding': 'chunked' }).flushHeaders()
  res.socket.on('error', () => {}) // the gateway may close it
  res.socket.write(`1\r\n${crumb}\r\n`.repeat(140_000))
  res.socket.end(`${Buffer.byteLength(answer).toString(16)}\r\n${answer}\r\n0\r\n\r\n`)
}

const CRUMBS: readonly (readonly [string, string, string, (answer: string) => string])[] = [
  ['JSON', 'application/json', ' ', (answer) => answer],
  ['a stream', 'text/event-stream', ':', (answer) => `\ndata: ${answer}\n\n`],
]

test.each(CRUMBS)(
  'an answer in chunks of a byte is too large before it has many: %s',
  async (_, type, crumb, framed) => {
    const text = (id: unknown): string => framed(asJson(id, 'result', JSON.stringify(said('late'))))
    const session = await sessionScript({ call: ({ message }, res) => inCrumbs(res, type, crumb, text(message.id)) })
    const stateless = await new ScriptedServer().start()
    stateless.answer = (received) => inCrumbs(received.res, type, crumb, text(idIn(received)))
    const { url } = await startGateway({
      it: { url: session.url, pannier: { state: 'stateful' } },
      other: stateless.entry(),
    })
    for (const tool of ['it_go', 'other_thing']) {
      const { message } = await callTool(url, tool)
      expect(message.error?.data).toMatchObject({ code: 'BACKEND_INVALID' })
      expect(message.error.message).toContain('chunks count as 128 bytes at least')
    }
    const unread = fetch(`${url}/other`, statelessRequest()).then((response) => response.text())
    if (type === 'application/json')
      await expect(unread).rejects.toThrow() // half of it was sent on
    else expect(await unread).toContain('chunks count as 128 bytes at least')
  },
)

test.each(SERVERS)('an error of a wrong form is none of a server: %s', async (kind, serving) => {
  const forms = kind === 'a process' ? ['{"code":1e400,"message":"Far."}'] : WRONG_ERRORS
  for (const form of forms) {
    const { url } = await startGateway({ it: await serving('error', form) })
    for (const { message } of [await callTool(url, toolAt(kind)), await inSession(url, toolAt(kind))])
      expect(message.error, form).toMatchObject(INVALID)
  }
})

const WRONG_ERRORS = ['{"code":1e400,"message":"Far."}', '{"code":-32000,"message":{"toString":1}}']

test.each([
  '{"resultType":"input_required","requestState":"s","inputRequests":{"a":{"method":"elicitation/create","params":null}}}',
  '{"resultType":"input_required","requestState":"s","inputRequests":{"a":{"method":"sampling/createMessage"}}}',
  '{"resultType":"input_required","requestState":"s","inputRequests":{"a":{"method":"other/create","params":{}}}}',
  '{"resultType":"input_required","requestState":"s","inputRequests":{"a":null}}',
  '{"resultType":"input_required","requestState":"s","inputRequests":[]}',
  '{"resultType":"task","taskId":{"toString":1},"status":"working"}',
])('a result of a wrong form is none, for clients of both eras: %s', async (text) => {
  const serving = SERVERS[2]?.[1] as Answering
  const { url } = await startGateway({ it: await serving('result', text) })
  for (const { message } of [
    await callTool(url, 'it_thing', {}, { capabilities: CAN }),
    await inSession(url, 'it_thing'),
  ])
    expect(message.error).toMatchObject(INVALID)
})

async function inSession(url: string, tool: string): Promise<{ status: number; message: Wire }> {
  const session = await RawSession.begin(url, { capabilities: CAN })
  return { status: 200, message: (await (await session.call(tool)).rest()).at(-1) }
}

test.each([
  [
    'nests too deep',
    () =>
      `{"a":{"method":"elicitation/create","params":{"message":"Deep?","requestedSchema":{"type":"object","properties":${DEEP}}}}}`,
    'nests deeper',
  ],
  [
    'has too many questions',
    () =>
      JSON.stringify(
        Object.fromEntries(Array.from({ length: 2000 }, (_, at) => [`q${at}`, { method: 'roots/list', params: {} }])),
      ),
    'asked 2000 questions at once',
  ],
])('what a stateless server asks is refused where it %s, for clients of both eras', async (_, requests, why) => {
  const serving = SERVERS[2]?.[1] as Answering
  const { url } = await startGateway({
    it: await serving('result', `{"resultType":"input_required","inputRequests":${requests()},"requestState":"s"}`),
  })
  for (const { message } of [
    await callTool(url, 'it_thing', {}, { capabilities: CAN }),
    await inSession(url, 'it_thing'),
  ]) {
    expect(message.error).toMatchObject(INVALID)
    expect(message.error.message).toContain(why)
  }
})

test('what a server says of itself is shown as far as it is short text, and the gateway is healthy with it', async () => {
  const about = (serverInfo: string) => async (request: ScriptedRequest, res: Wire) => {
    if (request.message.method !== 'initialize') return false
    res.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 's' })
    res.end(
      `{"jsonrpc":"2.0","id":${request.message.id},"result":{"protocolVersion":"2025-06-18","capabilities":{"tools":{}},"serverInfo":${serverInfo}}}`,
    )
    return true
  }
  const deep = await sessionScript({ first: about(`{"name":"deep","version":"1","more":${DEEP}}`) })
  const long = await sessionScript({
    first: about(`{"name":"${'n'.repeat(100_000)}","version":"1","icons":[${nested(50)}]}`),
  })
  const good = await sessionScript()
  const gateway = await startGatewayProcess(
    { deep: { url: deep.url }, long: { url: long.url }, good: { url: good.url } },
    WORKERS,
  )
  const before = await workersOf(gateway)
  const servers = await fetch(`${gateway.admin}servers`)
  expect(servers.status).toBe(200)
  const [one, two, three]: Wire = (await servers.json()).servers
  expect(one).toMatchObject({ condition: 'down', why: expect.stringContaining('nests deeper than 128 levels') })
  expect(two).toMatchObject({ condition: 'up', server: { name: 'n'.repeat(256), version: '1' } })
  expect(three).toMatchObject({ condition: 'up', server: { name: 'scripted', version: '1' } })
  expect((await fetch(`${gateway.admin}health`)).status).toBe(200)
  expect(await workersOf(gateway)).toEqual(before)
})

test('a flood of notifications is read in slices, between which others are served', async () => {
  const text = '{"jsonrpc":"2.0","method":"notifications/progress","params":{"progressToken":"none"}}'
  const flood = `data: ${text}\n\n`.repeat(3_000_000 / (text.length + 8))
  const call = ({ message }: ScriptedRequest, res: Wire) => {
    stream(res).end(`${flood}${event({ id: message.id, result: said('at last') })}`)
  }
  const { url } = await startGateway({
    it: { url: (await sessionScript({ call })).url, pannier: { state: 'stateful' } },
  })
  const most = mostInOneTurn(text)
  expect((await callTool(url, 'it_go')).message.result).toMatchObject(said('at last'))
  expect(most()).toBeLessThan(300_000 / (text.length + 8)) // a few chunks of 64 KB
})

/** How often this text was parsed at most before the event loop turned. To parse it takes a while, so that time is short. */
function mostInOneTurn(text: string): () => number {
  const parse = JSON.parse
  let most = 0
  let count = 0
  JSON.parse = (given: string, ...more: []) => {
    if (given !== text) return parse(given, ...more)
    if (++count === 1) setImmediate(() => ([most, count] = [Math.max(most, count), 0]))
    for (const until = performance.now() + 0.01; performance.now() < until; );
    return parse(given, ...more)
  }
  onTestFinished(() => void (JSON.parse = parse))
  return () => Math.max(most, count)
}

/** A piece of a stream after whose every carriage return a search for a line feed would run to the end. */
const RETURNS = Buffer.from('\r'.repeat(2000) + '\u0a0a'.repeat(2000))

test.each([
  [
    'a session',
    async () => {
      const call = ({ message }: ScriptedRequest, res: Wire) => {
        stream(res).write(RETURNS)
        res.end(`\n\n${event({ id: message.id, result: said('at last') })}`)
      }
      return { url: (await sessionScript({ call })).url, pannier: { state: 'stateful' } }
    },
  ],
  [
    'stateless',
    async () => {
      const server = await new ScriptedServer().start()
      server.answer = (received) => {
        stream(received.res).write(RETURNS)
        received.res.end(`\n\n${event({ id: idIn(received), result: said('at last') })}`)
      }
      return server.entry()
    },
  ],
])('no line end of a stream is searched for again and again: %s', async (kind, serving) => {
  const { url } = await startGateway({ it: await serving() })
  const inVain = searchesInVain()
  const { message } = await inSession(url, toolAt(kind))
  expect(message.result).toMatchObject(said('at last'))
  expect(inVain()).toBeLessThan(100)
})

/** How many searches for a line end have run to the end of a text that has wide characters. */
function searchesInVain(): () => number {
  const { indexOf } = String.prototype
  let count = 0
  String.prototype.indexOf = function (what: string, from?: number) {
    const at = indexOf.call(this, what, from)
    if (at < 0 && (what === '\n' || what === '\r') && indexOf.call(this, '\u0a0a') >= 0) count++
    return at
  }
  onTestFinished(() => void (String.prototype.indexOf = indexOf))
  return () => count
}

/** Servers that write this in each line or event of a flood, as often as that, before they answer. */
const FLOODS: readonly (readonly [string, (text: string, times: number) => Promise<object>])[] = [
  [
    'a session',
    async (text, times) => {
      const call = ({ message }: ScriptedRequest, res: Wire) => {
        stream(res).write(`data: ${text}\n\n`.repeat(times))
        res.end(event({ id: message.id, result: said('at last') }))
      }
      return { url: (await sessionScript({ call })).url, pannier: { state: 'stateful' } }
    },
  ],
  [
    'stateless',
    async (text, times) => {
      const server = await new ScriptedServer().start()
      server.answer = (received) => {
        stream(received.res).write(`data: ${text}\n\n`.repeat(times))
        received.res.end(event({ id: idIn(received), result: said('at last') }))
      }
      return server.entry()
    },
  ],
  [
    'a process',
    async (text, times) =>
      stdioServer(
        `${JSON.stringify(`${text}\n`)}.repeat(${times}) + JSON.stringify({ jsonrpc: '2.0', id: message.id, result: ${JSON.stringify(said('at last'))} })`,
      ),
  ],
]

test.each(FLOODS.flatMap(([kind, serving]) => ['{}', '0', 'x'].map((text) => [kind, text, serving] as const)))(
  'what is no message is not parsed, and the answer after it is read: %s, %s',
  async (kind, text, serving) => {
    const { url } = await startGateway({ it: await serving(text, 5000) })
    const parse = vi.spyOn(JSON, 'parse')
    onTestFinished(() => parse.mockRestore())
    expect((await callTool(url, toolAt(kind))).message.result).toMatchObject(said('at last'))
    expect(parse.mock.calls.filter(([given]) => given === text)).toEqual([])
  },
)

test.each(
  FLOODS.flatMap(([kind, serving]) =>
    ['{"jsonrpc"', '{"jsonrpc":"2.0"}'].map((text) => [kind, text, serving] as const),
  ),
)('a server whose messages cannot be read is given up after 1,000 of them: %s, %s', async (kind, text, serving) => {
  const { url } = await startGateway({ it: await serving(text, 5000) })
  const parse = vi.spyOn(JSON, 'parse')
  onTestFinished(() => parse.mockRestore())
  const { message } = await callTool(url, toolAt(kind))
  expect(message.error).toMatchObject(INVALID)
  expect(message.error.message).toContain('1000 messages in a row that cannot be read')
  expect(parse.mock.calls.filter(([given]) => given === text)).toHaveLength(1000)
})

test('a server with 999 unreadable messages in a row is not given up', async () => {
  for (const [kind, serving] of FLOODS) {
    const { url } = await startGateway({ it: await serving('{"jsonrpc"', 999) })
    for (let round = 0; round < 2; round++)
      expect((await callTool(url, toolAt(kind))).message.result).toMatchObject(said('at last'))
  }
})

test('a server whose messages cannot be read is given up after 1,000 of them: HTTP+SSE of 2024-11-05', async () => {
  let events: Wire
  const server = await sessionScript({
    first: ({ method, message }, res) => {
      if (method === 'GET') {
        events = stream(res, 'event: endpoint\ndata: /mcp\n\n')
        return true
      }
      if (message.method === 'tools/call') events.write('data: {"jsonrpc"\n\n'.repeat(1000))
      else if (message.id !== undefined)
        events.write(event({ id: message.id, result: OLD[String(message.method)] ?? {} }))
      res.writeHead(202).end()
      return true
    },
  })
  const { url } = await startGateway({ it: { url: server.url, type: 'sse', pannier: { state: 'stateful' } } })
  const { message } = await callTool(url, 'it_go')
  expect(message.error).toMatchObject(INVALID)
  expect(message.error.message).toContain('1000 messages in a row that cannot be read')
})
