/** Hostile servers over HTTP: `hostileHttp.ts SEED`. Prints its port; /stateless/… is of that era, /session/… of the other, and /sse/… of 2024-11-05. */
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'
import { setTimeout as sleep } from 'node:timers/promises'
import { gzipSync } from 'node:zlib'
import { type Asked, HostileServer } from '../hostileServer.ts'
import { Random } from '../random.ts'

const random = new Random(Number(process.argv[2]))
const server = new HostileServer(random.fork())
const STATUSES = [200, 202, 204, 301, 307, 400, 401, 403, 404, 405, 409, 410, 429, 500, 503]
const BOMB = gzipSync(Buffer.alloc(80 * 1024 * 1024))
const ODD_HEADERS: readonly Readonly<Record<string, string>>[] = [
  { 'content-encoding': 'gzip' },
  { 'www-authenticate': 'Bearer resource_metadata="http://127.0.0.1:1/a"' },
  { location: '/session/elsewhere' },
  { location: 'http://127.0.0.1:1/' },
  { 'mcp-session-id': 'x'.repeat(8000) },
  { 'retry-after': '-1' },
  { 'content-type': 'text/html' },
  {},
]

/** What waits until a response takes more, or is closed. */
const onWritable = new WeakMap<ServerResponse, () => void>()

async function write(res: ServerResponse, bytes: Buffer | string): Promise<void> {
  if (res.destroyed) throw new Error('The gateway has gone.')
  if (res.write(bytes)) return
  await new Promise<void>((resolve) => {
    onWritable.set(res, resolve)
  })
}

async function asStream(res: ServerResponse, asked: Asked): Promise<void> {
  res.writeHead(200, { 'content-type': 'text/event-stream', 'mcp-session-id': `s${random.below(1000)}` })
  await writeEvents(res, asked)
  if (random.chance(0.02)) await endless(res)
  if (random.chance(0.9)) res.end()
}

async function writeEvents(res: ServerResponse, asked: Asked): Promise<void> {
  for (const message of server.answers(asked)) {
    const lead = random.chance(0.9) ? '' : random.pick(ODD_FIELDS)
    const bytes = server.bytes(
      `${lead}data: ${message}${random.chance(0.97) ? '\n\n' : random.pick(['\r\r', '\n', ''])}`,
    )
    const at = random.chance(0.1) ? server.cutIn(bytes) : bytes.length
    await write(res, bytes.subarray(0, at))
    if (at < bytes.length) await sleep(5)
    await write(res, bytes.subarray(at))
  }
}

const ODD_FIELDS = [
  'id: \u0000\n',
  `id: ${'x'.repeat(20_000)}\n`,
  'id: 1\n',
  'retry: -5\n',
  'retry: 1\n',
  'retry: 999999999999\n',
  'event: other\n',
  ': a comment\n\n',
  'data\n',
  'data: {}\n',
  '\ufeff',
]

/** A stream that does not end, for a while. */
async function endless(res: ServerResponse): Promise<void> {
  const part = random.pick([
    `: ${'x'.repeat(100_000)}\n`,
    `data: ${'['.repeat(100_000)}\n`,
    'data: {}\n\n'.repeat(2000),
  ])
  for (let left = random.below(400); left > 0; left--) await write(res, part)
}

function asJson(res: ServerResponse, asked: Asked): void {
  const [message = ''] = server.answers(asked)
  res.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': `s${random.below(1000)}` })
  res.end(server.bytes(message))
}

function asOther(res: ServerResponse): void {
  const headers = random.pick(ODD_HEADERS)
  res.writeHead(random.pick(STATUSES), { 'content-type': 'application/json', ...headers })
  res.end('content-encoding' in headers ? BOMB : server.odd())
}

/** The streams of /sse/…, by the addresses to which their requests are posted. */
const streams = new Map<string, ServerResponse>()

/** Everything comes on the stream of one GET, whose first event says where to post. */
async function serveSse(req: IncomingMessage, res: ServerResponse, asked: Asked): Promise<void> {
  const address = req.method === 'GET' ? `/sse/${random.below(2 ** 32)}` : (req.url ?? '')
  if (req.method === 'GET') {
    streams.set(address, res)
    res.on('close', () => streams.delete(address))
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    const named = random.chance(0.97)
      ? address
      : random.pick(['http://127.0.0.1:1/', '//127.0.0.1:1/', '', server.odd()])
    return write(res, `event: endpoint\ndata: ${named}\n\n`)
  }
  if (random.chance(0.02)) return asOther(res)
  res.writeHead(202).end()
  const stream = streams.get(address)
  if (stream === undefined) return
  await writeEvents(stream, asked)
  if (random.chance(0.01)) await endless(stream)
  if (random.chance(0.01)) stream.end()
}

async function serve(req: IncomingMessage, res: ServerResponse): Promise<void> {
  const body = await text(req)
  const asked = (body.startsWith('{') ? JSON.parse(body) : {}) as Asked
  if (req.url?.startsWith('/sse/')) return serveSse(req, res, asked)
  if (req.method === 'GET' && random.chance(0.3)) return asStream(res, { id: 'none', method: 'none' })
  if (req.method !== 'POST') return void res.writeHead(405).end()
  const isOther = asked.method === (req.url?.startsWith('/session') ? 'server/discover' : 'initialize')
  if (isOther) return void res.writeHead(400).end('Bad Request')
  if (random.chance(0.03)) return asOther(res)
  if (random.chance(0.01)) return void res.destroy()
  if (random.chance(0.01)) return // for as long as the gateway waits
  if (asked.id === undefined || asked.method === undefined) return void res.writeHead(202).end()
  return random.chance(0.5) ? asStream(res, asked) : asJson(res, asked)
}

const host = createServer((req, res) => {
  res.on('error', () => {})
  for (const event of ['drain', 'close']) res.on(event, () => onWritable.get(res)?.())
  serve(req, res).catch(() => res.destroy())
})
host.listen(0, '127.0.0.1')
await once(host, 'listening')
process.stdin.resume().on('end', () => process.exit(0))
console.log((host.address() as AddressInfo).port)
