/** Servers that are slow, broken, gone or rude: their callers hear which server it was, and the others notice nothing. */
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import type { IncomingMessage, ServerResponse } from 'node:http'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { afterEach, beforeEach, expect, onTestFinished, test, vi } from 'vitest'
import { hostUntil } from '../fixtures/until.ts'
import { proves } from '../proves.ts'
import { accept, call as callByHand } from '../fixtures/modernClient.ts'
import { recordedLog } from '../e2e/fixtures/recordedLog.ts'
import { quiet } from '../interop/fixtures/instances.ts'
import { RawSession } from '../interop/fixtures/rawSession.ts'
import { effectTools } from './fixtures/effectTools.ts'
import { call, connectClient, modernServer, sessionServer, startGateway, stdioEntry } from './fixtures/gateways.ts'
import { answered } from './fixtures/parkedRounds.ts'
import { sessionScript } from './fixtures/sessionScript.ts'

const PATIENCE = { timeout: 30_000 }
const HTML = { 'content-type': 'text/html; charset=utf-8' }
const JSON_TYPE = { 'content-type': 'application/json' }
const NO_MESSAGE = 'no MCP message. Check that its address is that of an MCP server.'

/** So that no sentence depends on the network of this machine. */
const NETWORK_VARIABLES = ['HTTPS_PROXY', 'HTTP_PROXY', 'https_proxy', 'http_proxy', 'NODE_EXTRA_CA_CERTS']
beforeEach(() => {
  for (const name of NETWORK_VARIABLES) vi.stubEnv(name, '')
})
afterEach(() => void vi.unstubAllEnvs())

async function rudeServer(answer: (req: IncomingMessage, res: ServerResponse, body: string) => void): Promise<string> {
  const host = await hostUntil((req, res) => {
    let body = ''
    req.on('data', (chunk: Buffer) => (body += chunk.toString()))
    req.on('end', () => answer(req, res, body))
  })
  return host.url
}

test('servers that are broken in any way are named in the error, and the others are served', async () => {
  const redirect = (_: IncomingMessage, res: ServerResponse) =>
    res.writeHead(307, { location: 'http://127.0.0.1:1/' }).end()
  const odd = {
    gone: { url: 'http://127.0.0.1:1/mcp' },
    unknown: { command: 'there-is-no-such-program' },
    ending: { command: process.execPath, args: ['-e', 'process.exit(3)'] },
    silent: { url: await rudeServer(() => {}), pannier: { startSeconds: 1 } },
    page: { url: await rudeServer((_, res) => res.end('<html>')) },
    failing: { url: await rudeServer((_, res) => res.writeHead(500).end()) },
    locked: { url: await rudeServer((_, res) => res.writeHead(401).end()) },
    elsewhere: { url: await rudeServer(redirect) },
    lost: { url: await rudeServer((_, res) => res.writeHead(404).end()) },
    service: { url: await rudeServer((_, res) => res.writeHead(200, JSON_TYPE).end('{"ok":true}')) },
  }
  const ours = await modernServer()
  const settings = { gateway: { listDeadlineMs: 100 } }
  const { url, gateway } = await startGateway({ ...odd, ours: { url: ours.url } }, {}, settings)
  const client = await connectClient('v2', url)
  const names = async () => (await client.listTools()).tools.map(({ name }) => name)
  await vi.waitFor(async () => expect(await names()).toEqual(['ours_add', 'ours_confirm', 'ours_wait']), PATIENCE)
  expect(await call(client, 'ours_add', { a: 1, b: 2 })).toBe('3')
  const isNamed = (name: string) => expect(call(client, `${name}_thing`)).rejects.toThrow(`The server "${name}" `)
  await Promise.all(Object.keys(odd).map(isNamed))
  for (const backend of gateway.backends.slice(0, -1))
    await vi.waitFor(() => expect(backend.connector.condition.kind, backend.name).toBe('down'), PATIENCE)
  const whyOf = (name: string) => gateway.backends.find((each) => each.name === name)?.connector.condition
  expect(whyOf('lost')).toMatchObject({ why: 'it answers HTTP 404; check the path of its address.' })
  expect(whyOf('service')).toMatchObject({ why: `it answered with something that is ${NO_MESSAGE}` })
  expect(whyOf('failing')).toMatchObject({ why: 'it answers HTTP 500.' })
  await expect(call(client, 'ending_thing')).rejects.toThrow(
    'The server "ending" cannot be started: its process ended with exit code 3. It printed nothing.',
  )
})

const page = (_: IncomingMessage, res: ServerResponse) => res.writeHead(200, HTML).end('<!doctype html><p>Welcome')
const absent = (_: IncomingMessage, res: ServerResponse) => res.writeHead(404).end('Not Found')

test.each([
  ['a web page', page, NO_MESSAGE],
  ['nothing', absent, 'HTTP 404; check the path of its address.'],
])(
  'where %s is in place of a server, health and calls say so, and no call can have had effects',
  async (_, answer, why) => {
    const { url, gateway } = await startGateway({ site: { url: await rudeServer(answer) } })
    expect(gateway.backends[0]?.connector.condition).toMatchObject({ kind: 'down', why: expect.stringContaining(why) })
    expect(JSON.stringify(gateway.report().health)).not.toContain('may have happened')
    for (const [at, tool] of [
      [url, 'site_thing'],
      [`${url}/site`, 'thing'],
    ] as const) {
      const { error } = (await callByHand(at, tool)).message
      expect(error).toMatchObject({ message: expect.stringContaining(why), data: { code: 'BACKEND_INVALID' } })
      expect(error.message).not.toContain('may have happened')
      await expect(call(await connectClient('v1', at), tool)).rejects.toThrow(why)
    }
  },
)

test('a web page in answer to a call is no MCP message', async () => {
  const server = await sessionScript({ call: (_, res) => res.writeHead(200, HTML).end('<p>Welcome') })
  const { url } = await startGateway({ site: { url: server.url } })
  const { error } = (await callByHand(url, 'site_go')).message
  expect(error.message).toBe(`The server "site" answered with something that is ${NO_MESSAGE}`)
  expect(error.data.code).toBe('BACKEND_INVALID')
})

test('values that the entry of a server gives it are not in the log, whatever it prints', async () => {
  const log: string[] = []
  const keep = (facts: object): void => void log.push(JSON.stringify(facts))
  const logger = { debug: keep, info: keep, warn: keep, error: keep }
  const args = ['-e', 'console.error("Bad key", process.env.KEY, process.env.AUTH.slice(7), process.argv[1])']
  const entry = {
    command: process.execPath,
    args: [...args, 'of=${OTHER_SECRET}'],
    env: { KEY: 'written-in-the-file', AUTH: 'Bearer ${SOME_SECRET}', MODE: 'key' },
  }
  vi.stubEnv('SOME_SECRET', 'of-the-environment')
  vi.stubEnv('OTHER_SECRET', 'of-an-argument')
  await startGateway({ it: entry }, { logger })
  const said = log.join('\n')
  expect(said).toContain('"printed":["Bad key *** *** of=***"]')
  expect(said).toContain('"line":"Bad key *** *** of=***"')
  expect(said).not.toMatch(/written-in|of-the-env|of-an-arg/)
})

test('what a process printed that ended at its start is in the log, the first time and when it differs', async () => {
  const log: { printed: readonly string[]; why: string }[] = []
  const logger = {
    ...quiet,
    warn: (said: object) => void ('printed' in said && log.push(said as (typeof log)[number])),
  }
  const folder = mkdtempSync(join(tmpdir(), 'pannier-printed-'))
  onTestFinished(() => rmSync(folder, { recursive: true }))
  const [mark, starts] = [join(folder, 'mark'), join(folder, 'starts')]
  const print = `const { appendFileSync, existsSync } = require('node:fs')
    appendFileSync('${starts}', '.')
    console.error(Array.from({ length: 30 }, (_, at) => 'line ' + at).join('\\n'))
    console.error('\\x1b[31m' + process.pid + (existsSync('${mark}') ? ': no such file' : ': KEY is not set') + '\\x1b[0m')
    process.exit(1)`
  const failing = { command: process.execPath, args: ['-e', print], pannier: { state: 'stateful' } }
  await startGateway({ failing }, { logger })
  const why = 'it cannot be started: its process ended with exit code 1. What it printed is in the log.'
  expect(log).toMatchObject([{ server: 'failing', why }])
  expect(log[0]?.printed.slice(0, 7)).toEqual([
    ...Array.from({ length: 5 }, (_, at) => `line ${at}`),
    '(11 more lines)',
    'line 16',
  ])
  expect(log[0]?.printed).toHaveLength(21)
  expect(log[0]?.printed.at(-1)).toMatch(/^\d+: KEY is not set$/)
  // The third start comes after the end of the second, which had another process id.
  await vi.waitFor(() => expect(readFileSync(starts, 'utf8').length).toBeGreaterThan(2), PATIENCE)
  expect(log).toHaveLength(1)
  writeFileSync(mark, '')
  await vi.waitFor(() => expect(log[1]?.printed.at(-1)).toMatch(/^\d+: no such file$/), PATIENCE)
})

test('what a process printed that speaks no MCP is in the log, masked, wherever it wrote it', async () => {
  const log: { server: string; printed: readonly string[]; why: string }[] = []
  const logger = { ...quiet, warn: (said: object) => void log.push(said as (typeof log)[number]) }
  const print = `for (let at = 0; at < 15; at++) console.log('step ' + at + ' with ' + process.env.KEY)
    console.log('{"jsonrpc":"2.0","method":"notifications/message","params":{}}')
    console.error('Usage: server --stdio')`
  const entry = (code: string) => ({
    command: process.execPath,
    args: ['-e', code],
    env: { KEY: 'written-in-the-file' },
    pannier: { state: 'stateful', startSeconds: 1.5 },
  })
  const servers = { silent: entry(`${print}; setInterval(() => {}, 1000)`), ending: entry(print) }
  const { gateway } = await startGateway(servers, { logger })
  const printed = [...Array.from({ length: 15 }, (_, at) => `step ${at} with ***`), 'Usage: server --stdio']
  const late = 'it has not started within 1.5 seconds. What it printed is in the log.'
  const ended = 'it cannot be started: its process ended with exit code 0. What it printed is in the log.'
  expect(log).toContainEqual({ server: 'silent', printed, why: late })
  expect(log).toContainEqual({ server: 'ending', printed, why: ended })
  expect(gateway.report().health['warnings']).toContain(`The server "silent" is not there: ${late} It is tried again.`)
})

test('a program that does not start names the variables of the network that only the gateway has', async () => {
  vi.stubEnv('NODE_EXTRA_CA_CERTS', '/etc/ca.pem')
  vi.stubEnv('HTTPS_PROXY', 'http://name:password@proxy.example.com')
  const entry = (code: string, env = {}) => ({
    command: process.execPath,
    args: ['-e', code],
    env,
    pannier: { state: 'stateful', startSeconds: 1.5 },
  })
  const silent = 'setInterval(() => {}, 1000)'
  const servers = {
    silent: entry(silent, { HTTPS_PROXY: 'http://proxy' }),
    ending: entry(''),
    told: entry(silent, { ...process.env }),
  }
  const { gateway } = await startGateway(servers)
  const advice = (names: string) =>
    `It does not get ${names} from the gateway; if it needs the network, add that to "env" in its entry.`
  const warnings = gateway.report().health['warnings'] as string[]
  expect(warnings.filter((warning) => warning.includes('is not there'))).toEqual([
    expect.stringContaining(`within 1.5 seconds. ${advice('NODE_EXTRA_CA_CERTS')}`),
    expect.stringContaining(`It printed nothing. ${advice('HTTPS_PROXY, NODE_EXTRA_CA_CERTS')}`),
    'The server "told" is not there: it has not started within 1.5 seconds. It is tried again.',
  ])
})

test('a process that ends by itself is in the log with what it printed; one that is closed is not', async () => {
  const { logger, lines } = recordedLog()
  const { gateway, url } = await startGateway({ it: stdioEntry() }, { logger })
  const client = await connectClient('v1', url)
  await expect(call(client, 'it_die')).rejects.toThrow('has closed')
  const said = () => lines.filter(({ message }) => message === 'The process of a server has ended by itself.')
  const fields = { server: 'it', why: 'its process ended with exit code 3.', printed: ['It was told to die.'] }
  await vi.waitFor(() => expect(said()).toMatchObject([{ level: 'warn', fields }]), PATIENCE)
  await gateway.drain({ deadlineMs: 0 })
  expect(said()).toHaveLength(1)
})

test('a process that dies in a call ends that call with an error, and is there again for the next', async () => {
  const { url } = await startGateway({ stdio: stdioEntry({ state: 'stateful' }) })
  const client = await connectClient('v1', url)
  await expect(call(client, 'stdio_die')).rejects.toThrow(
    /The server "stdio" has closed its connection before it answered/,
  )
  expect(await call(client, 'stdio_add', { a: 1, b: 2 })).toBe('3')
})

test('a call has its time without that in which its caller is asked, in both eras, and is cancelled at its server then', async () => {
  const effects: string[] = []
  const { url: address } = await sessionServer(undefined, () => effectTools(effects))
  const { url } = await startGateway({ desk: { url: address, pannier: { state: 'stateful', timeoutSeconds: 1 } } })
  const late = { data: { code: 'BACKEND_TIMEOUT', server: 'desk' } }
  /** Takes as long as a call may that waits for its server: another one times out. */
  const thinking = async (key: string): Promise<void> => {
    const { message } = await callByHand(url, 'desk_wait', { key })
    const params = answered(message.result, 'Bob')
    expect((await callByHand(url, 'desk_wait', { key }, { params })).message.error).toMatchObject(late)
  }
  const inSession = async () => {
    const session = await RawSession.begin(url, { capabilities: { elicitation: {} } })
    const stream = await session.call('desk_wait', { key: 'session' })
    const asked = await stream.next()
    await thinking('while session')
    await session.answer(asked, accept({ name: 'Ann' }))
    return (await stream.rest()).at(-1)?.error
  }
  const inRounds = async () => {
    const { message } = await callByHand(url, 'desk_wait', { key: 'rounds' })
    await thinking('while rounds')
    const params = answered(message.result, 'Ann')
    return (await callByHand(url, 'desk_wait', { key: 'rounds' }, { params })).message.error
  }
  expect(await Promise.all([inSession(), inRounds()])).toMatchObject([late, late])
  await vi.waitFor(() => {
    for (const key of ['session', 'rounds'])
      expect(effects.filter((effect) => effect.endsWith(` ${key}`) && !effect.includes('while'))).toEqual([
        `waits ${key}`,
        `cancelled ${key}`,
      ])
  }, PATIENCE)
})

test('the shared process of a stateless server that died is started again', async () => {
  const { url, gateway } = await startGateway({ stdio: stdioEntry({ state: 'stateless' }) })
  const client = await connectClient('v2', url, {}, {})
  await expect(call(client, 'stdio_die')).rejects.toThrow(/The server "stdio"/)
  await vi.waitFor(() => expect(gateway.backends[0]?.connector.condition.kind).toBe('up'), PATIENCE)
  expect(await call(client, 'stdio_add', { a: 1, b: 2 })).toBe('3')
})

proves('DT-19', 'a server that comes up later is simply there', async () => {
  let answer = (_req: IncomingMessage, res: ServerResponse): void => void res.writeHead(503).end()
  const later = await rudeServer((req, res, body) => {
    if (body !== '') Object.assign(req, { body: JSON.parse(body) as unknown })
    answer(req, res)
  })
  const { url } = await startGateway({ later: { url: later } })
  const client = await connectClient('v2', url)
  expect((await client.listTools()).tools).toEqual([])
  const { server } = await modernServer()
  answer = server.nodeHandler()
  await vi.waitFor(async () => expect((await client.listTools()).tools).toHaveLength(3), {
    timeout: 20_000,
    interval: 200,
  })
  expect(await call(client, 'later_add', { a: 1, b: 2 })).toBe('3')
})

test('a tool that a server adds is listed', async () => {
  const ours = await modernServer()
  const { url } = await startGateway({ ours: { url: ours.url } })
  const client = await connectClient('v2', url, {}, {})
  ours.server.tool('grown', { description: 'New.' }, () => 'new')
  const names = async () => (await client.listTools()).tools.map(({ name }) => name)
  await vi.waitFor(async () => expect(await names()).toContain('ours_grown'), PATIENCE)
})

test('a process gets the variables of its entry, PATH and the like, and no others', async () => {
  process.env['GATEWAY_SECRET'] = 'hidden'
  onTestFinished(() => void delete process.env['GATEWAY_SECRET'])
  const { url } = await startGateway({ stdio: stdioEntry() })
  const seen = (await call(await connectClient('v2', url), 'stdio_environment')).split(' ')
  expect(seen).toContain('PANNIER_KEYS')
  expect(seen).toContain('PATH')
  expect(seen).not.toContain('GATEWAY_SECRET')
})

test('an error of a tool stays a result, and an unknown tool is told', async () => {
  const { url } = await startGateway({ stdio: stdioEntry() })
  const client = await connectClient('v1', url)
  expect(await client.callTool({ name: 'stdio_fail' })).toMatchObject({
    isError: true,
    content: [{ text: 'It broke.' }],
  })
  await expect(call(client, 'stdio_nothing')).rejects.toThrow('There is no tool "stdio_nothing".')
  await expect(call(client, 'nothing')).rejects.toThrow('There is no tool "nothing".')
})

test('a caller who asks for too much, and a result that is too large, are refused with a sentence', async () => {
  const limits = { gateway: { limits: { requestsPerMinute: 3 } } }
  const { url } = await startGateway(
    { ours: { url: (await modernServer()).url, pannier: { maxResultBytes: 10 } } },
    {},
    limits,
  )
  const client = await connectClient('v2', url)
  await expect(call(client, 'ours_add', { a: 1, b: 2 })).rejects.toThrow(/answered with more than 10 bytes/)
  await expect(
    call(client, 'ours_add', { a: 1, b: 2 }).then(() => call(client, 'ours_add', { a: 1, b: 2 })),
  ).rejects.toThrow()
  await expect(call(client, 'ours_add', { a: 1, b: 2 })).rejects.toThrow(/429|minute/)
})

test('a result without content, which older clients let pass, is one that a stateless client takes', async () => {
  const results: Record<string, object> = {
    initialize: {
      protocolVersion: '2025-06-18',
      capabilities: { tools: {} },
      serverInfo: { name: 'terse', version: '1' },
    },
    'tools/list': { tools: [{ name: 'hello', inputSchema: { type: 'object' } }] },
    'tools/call': {},
  }
  const url = await rudeServer((req, res, body) => {
    const { id, method = '' } = (body === '' ? {} : JSON.parse(body)) as { id?: number; method?: string }
    if (req.method !== 'POST') return void res.writeHead(405).end()
    if (id === undefined) return void res.writeHead(202).end()
    const result = results[method]
    const answer = result === undefined ? { error: { code: -32601, message: 'No.' } } : { result }
    res.writeHead(200, { 'content-type': 'application/json' }).end(JSON.stringify({ jsonrpc: '2.0', id, ...answer }))
  })
  const gateway = await startGateway({ terse: { url, pannier: { state: 'stateless' } } })
  for (const kind of ['v1', 'v2'] as const)
    expect(await call(await connectClient(kind, gateway.url), 'terse_hello')).toBe('')
})

test.each([
  ['once', 1],
  ['always', Number.POSITIVE_INFINITY],
])(
  'a running call that may run twice is repeated up to five times when its process dies, each time with a line in the log: %s',
  async (_, deaths) => {
    const folder = mkdtempSync(join(tmpdir(), 'pannier-repeated-'))
    onTestFinished(() => rmSync(folder, { recursive: true }))
    const program = `
    const { appendFileSync, readFileSync } = require('node:fs')
    const answer = (id, result) => console.log(JSON.stringify({ jsonrpc: '2.0', id, ...result }))
    const serverInfo = { name: 'frail', version: '1' }
    const begun = { protocolVersion: '2025-06-18', capabilities: { tools: {} }, serverInfo }
    const tools = [{ name: 'look', inputSchema: { type: 'object' }, annotations: { readOnlyHint: true } }]
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method } = JSON.parse(line)
      if (id === undefined) return
      if (method === 'initialize') return answer(id, { result: begun })
      if (method === 'tools/list') return answer(id, { result: { tools } })
      if (method !== 'tools/call') return answer(id, { error: { code: -32601, message: 'No such method' } })
      appendFileSync('${join(folder, 'calls')}', 'x')
      if (readFileSync('${join(folder, 'calls')}', 'utf8').length <= ${deaths}) process.exit(1)
      answer(id, { result: { content: [{ type: 'text', text: 'seen' }] } })
    })`
    const infos: object[] = []
    const logger = { ...quiet, info: (fields: object, text: string) => void infos.push({ ...fields, text }) }
    const frail = { command: process.execPath, args: ['-e', program], pannier: { state: 'stateful' } }
    const { url } = await startGateway({ frail }, { logger })
    const { message } = await callByHand(url, 'frail_look')
    if (deaths <= 5) expect(message.result.content).toEqual([{ type: 'text', text: 'seen' }])
    else expect(message.error.data).toMatchObject({ code: 'BACKEND_LOST' })
    expect(readFileSync(join(folder, 'calls'), 'utf8')).toHaveLength(Math.min(deaths, 5) + 1)
    const line = { server: 'frail', name: 'look', text: expect.stringContaining('runs again') as string }
    expect(infos.filter((info) => 'name' in info)).toEqual(Array.from({ length: Math.min(deaths, 5) }, () => line))
  },
)
