/** Memory of what a server holds for clients that are only connected: subscriptions, sessions and the streams of sessions. */
import { connect, type Socket } from 'node:net'
import type { Child } from '../../processes/child.ts'
import { type Bench, type Case, type CaseResult, withChild } from '../case.ts'

const KILOBYTE = 1000
const AT_ONCE = 50

interface Kind {
  readonly label: string
  /** Opens one of them; the sockets stay open until the server is stopped. */
  open(port: number): Promise<unknown>
}

const KINDS: readonly Kind[] = [
  { label: 'subscriptions of the stateless era', open: (port) => held(port, LISTEN) },
  { label: 'sessions without a stream', open: beginSession },
  { label: 'sessions with a stream', open: async (port) => held(port, streamOf(await beginSession(port))) },
]

export const streams: Case = {
  title: 'clients that are only connected',
  programs: ['pannier'],
  async run(bench) {
    const count = bench.plan.memory.streams
    const results = []
    for (const kind of KINDS) results.push({ kind, kilobytes: await measure(bench, kind, count) })
    const lines = results.map(
      ({ kind, kilobytes: { rss, heap } }) =>
        `${count} ${kind.label}: ${rss.toFixed(1)} KB each (heap ${heap.toFixed(1)})`,
    )
    return {
      lines,
      figures: [],
      wrong: { count: 0 },
      raw: results.map(({ kilobytes }) => kilobytes),
    } satisfies CaseResult
  },
}

function measure(bench: Bench, { open }: Kind, count: number): Promise<{ rss: number; heap: number }> {
  return withChild(bench.startServer('pannier', { transport: 'http' }), async (child) => {
    await openAll(child, open, AT_ONCE) // so that what is loaded once does not count
    const before = await child.ask<NodeJS.MemoryUsage>('memory')
    await openAll(child, open, count)
    const after = await child.ask<NodeJS.MemoryUsage>('memory')
    const each = (from: number, to: number): number => (to - from) / count / KILOBYTE
    return { rss: each(before.rss, after.rss), heap: each(before.heapUsed, after.heapUsed) }
  })
}

async function openAll({ port }: Child, open: Kind['open'], count: number): Promise<void> {
  for (let done = 0; done < count; done += AT_ONCE)
    await Promise.all(Array.from({ length: Math.min(AT_ONCE, count - done) }, () => open(port)))
}

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'pannier-bench', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': {},
}
const LISTEN = post(
  { 'MCP-Protocol-Version': '2026-07-28', 'Mcp-Method': 'subscriptions/listen' },
  { method: 'subscriptions/listen', params: { notifications: { toolsListChanged: true }, _meta: META } },
)
const INITIALIZE = post(
  {},
  {
    method: 'initialize',
    params: {
      protocolVersion: '2025-11-25',
      capabilities: {},
      clientInfo: { name: 'pannier-bench', version: '1.0.0' },
    },
  },
)

function post(headers: Readonly<Record<string, string>>, message: object): string {
  const body = JSON.stringify({ jsonrpc: '2.0', id: 1, ...message })
  const all = { ...headers, 'Content-Type': 'application/json', 'Content-Length': String(Buffer.byteLength(body)) }
  return `POST${headLines(all)}${body}`
}

function streamOf(session: string): string {
  return `GET${headLines({ 'Mcp-Session-Id': session, 'MCP-Protocol-Version': '2025-11-25' })}`
}

function headLines(headers: Readonly<Record<string, string>>): string {
  const all = { Host: '127.0.0.1', Accept: 'application/json, text/event-stream', ...headers }
  const lines = Object.entries(all).map(([name, value]) => `${name}: ${value}\r\n`)
  return ` /mcp HTTP/1.1\r\n${lines.join('')}\r\n`
}

async function beginSession(port: number): Promise<string> {
  const { socket, head } = await held(port, INITIALIZE)
  socket.destroy()
  const id = /^mcp-session-id: (.*)\r$/im.exec(head)?.[1]
  if (id === undefined) throw new Error(`No session began: ${head}`)
  return id
}

/** Sends a request, and waits for the head of the answer. */
function held(port: number, request: string): Promise<{ socket: Socket; head: string }> {
  return new Promise((resolve, reject) => {
    const socket = connect(port, '127.0.0.1', () => socket.write(request))
    socket.once('error', reject)
    socket.once('data', (chunk: Buffer) => {
      const head = chunk.toString()
      if (head.startsWith('HTTP/1.1 200')) resolve({ socket, head })
      else reject(new Error(head))
    })
  })
}
