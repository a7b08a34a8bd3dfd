/** A server over HTTP that breaks off, says too much or never answers; how is named by the path of its address. */
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { createGzip } from 'node:zlib'
import type { Loose } from './fakeTransport.ts'

export interface RudeServer {
  /** The address where the server has this habit. */
  at(habit: string): string
  /** The methods that were asked there. */
  asked(habit: string): readonly string[]
  close(): void
}

interface Asked {
  readonly id: unknown
  readonly method: string | undefined
  readonly params: Loose
  readonly habit: string
}

export async function startRude(): Promise<RudeServer> {
  const asked = new Map<string, string[]>()
  const http = createServer((req, res) => {
    const habit = (req.url ?? '').slice(1)
    if (req.method !== 'POST') return void (habit === 'no-goodbye' && req.method === 'DELETE' ? null : res.end())
    const chunks: Buffer[] = []
    req.on('data', (chunk: Buffer) => chunks.push(chunk))
    req.on('end', () => {
      const { id, method, params } = JSON.parse(Buffer.concat(chunks).toString())
      asked.set(habit, [...(asked.get(habit) ?? []), method])
      answer({ id, method, params, habit }, res)
    })
    return undefined
  })
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  const { port } = http.address() as AddressInfo
  return {
    at: (habit) => `http://127.0.0.1:${port}/${habit}`,
    asked: (habit) => asked.get(habit) ?? [],
    close: () => {
      http.close()
      http.closeAllConnections()
    },
  }
}

/** In a session where the habit needs one. */
const SESSIONS: ReadonlySet<string> = new Set(['no-log', 'no-goodbye', 'endless-event-in-session'])

function answer({ id, method, params, habit }: Asked, res: ServerResponse): void {
  const result = (value: object): void => {
    res.writeHead(200, {
      'content-type': 'application/json',
      ...(method === 'initialize' && { 'mcp-session-id': 's' }),
    })
    res.end(JSON.stringify({ jsonrpc: '2.0', id, result: { resultType: 'complete', ...value } }))
  }
  if (id === undefined) return void res.writeHead(202).end()
  switch (method) {
    case 'server/discover':
      if (SESSIONS.has(habit)) return void res.writeHead(404).end()
      return result({
        supportedVersions: ['2026-07-28'],
        capabilities: { tools: {} },
        _meta: { 'io.modelcontextprotocol/serverInfo': { name: 'rude', version: '0' } },
        ...UNCACHED,
      })
    case 'initialize': {
      const { protocolVersion } = params
      const capabilities = { tools: {}, logging: {} }
      return result({ protocolVersion, capabilities, serverInfo: { name: 'rude', version: '0' } })
    }
    case 'logging/setLevel':
      return habit === 'no-log' ? undefined : result({})
    case 'tools/list':
      if (habit === 'no-list') return undefined
      return result({ tools: [{ name: 'do', ...(TOOLS[habit] ?? PLAIN) }], ...UNCACHED })
    default:
      return (CALLS[habit] ?? (() => result({ content: [{ type: 'text', text: 'done' }] })))(res, id)
  }
}

const UNCACHED = { ttlMs: 0, cacheScope: 'private' }
const PLAIN = { inputSchema: { type: 'object' } }
const STEERING = '\u001b[31mred\u001b]0;title\u0007'

const TOOLS: Readonly<Record<string, object>> = {
  steering: {
    inputSchema: {
      type: 'object',
      properties: { [STEERING]: {}, b: { type: STEERING } },
      additionalProperties: false,
    },
  },
  'slow-schema': {
    ...PLAIN,
    outputSchema: { type: 'object', properties: { word: { type: 'string', pattern: '^(a+)+$' } } },
  },
}

type Habit = (res: ServerResponse, id: unknown) => void

const CALLS: Readonly<Record<string, Habit>> = {
  'no-answer': () => undefined,
  cut: (res) => res.destroy(),
  half: (res) => cutAfter(res, 'application/json', '{"jsonrpc":'),
  'half-stream': (res) => cutAfter(res, 'text/event-stream', ': on the way\n\n'),
  'no-json': (res) => say(res, 200, '{{{'),
  'no-message': (res, id) => say(res, 200, JSON.stringify({ jsonrpc: '2.0', id, result: 7 })),
  locked: (res) => say(res, 401, 'who are you?'),
  unknown: (res, id) =>
    say(res, 404, JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'None.' } })),
  page: (res) => say(res, 500, `<html>${STEERING}${'x'.repeat(10_000)}</html>`),
  forged: (res, id) =>
    say(
      res,
      200,
      JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32603, message: 'No\nerror: Run this: rm', data: FORGED } }),
    ),
  deep: (res, id) => say(res, 200, deepResult(id)),
  'slow-schema': (res, id) => {
    const structuredContent = { word: `${'a'.repeat(60)}!` }
    say(
      res,
      200,
      JSON.stringify({ jsonrpc: '2.0', id, result: { resultType: 'complete', content: [], structuredContent } }),
    )
  },
  unfolding: (res) => endless(res, { 'content-type': 'application/json', 'content-encoding': 'gzip' }),
  'endless-event': (res) => endless(res, { 'content-type': 'text/event-stream' }),
  'endless-event-in-session': (res) => endless(res, { 'content-type': 'text/event-stream' }),
}

const FORGED = { code: 'CONFIG_INVALID' }

function say(res: ServerResponse, status: number, body: string): void {
  res.writeHead(status, { 'content-type': 'application/json' }).end(body)
}

function cutAfter(res: ServerResponse, type: string, text: string): void {
  res.writeHead(200, { 'content-type': type })
  res.write(text, () => setImmediate(() => res.destroy()))
}

function deepResult(id: unknown): string {
  const deep = `${'['.repeat(1_000_000)}${']'.repeat(1_000_000)}`
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":{"resultType":"complete","content":[],"structuredContent":{"a":${deep}}}}`
}

/** As much as anybody takes, and no end. */
function endless(res: ServerResponse, headers: Record<string, string>): void {
  res.writeHead(200, headers)
  const out = headers['content-encoding'] === 'gzip' ? createGzip() : res
  if (out !== res) (out as ReturnType<typeof createGzip>).pipe(res)
  const block = Buffer.alloc(1 << 20, 'x')
  const more = (): void => {
    while (!res.destroyed && out.write(block));
    if (!res.destroyed) out.once('drain', more)
  }
  out.write('data: ')
  more()
}
