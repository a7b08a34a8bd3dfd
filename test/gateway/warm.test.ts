/** Processes and sessions that are opened ahead for callers to come. */
import { randomUUID } from 'node:crypto'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { mkdtemp, readFile, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { expect, onTestFinished, test, vi } from 'vitest'
import { type AnyClient, call, connectClient, startGateway } from './fixtures/gateways.ts'

const principal = ({ header }: { header: (name: string) => string | undefined }) => ({
  id: header('x-user') ?? 'nobody',
})

/** A server that writes a line with its process id when it is initialised, and answers its tool with that id. */
async function countedServer(settings: object) {
  const folder = await mkdtemp(join(tmpdir(), 'pannier-warm-'))
  onTestFinished(() => rm(folder, { recursive: true }))
  const log = join(folder, 'starts')
  const program = `
    const reply = (id, result) => process.stdout.write(JSON.stringify({ jsonrpc: '2.0', id, ...result }) + '\\n')
    const RESULTS = { initialize: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo: { name: 'counted', version: '1' } },
      'tools/list': { tools: [{ name: 'pid', inputSchema: { type: 'object' } }] },
      'tools/call': { content: [{ type: 'text', text: String(process.pid) }] } }
    require('node:readline').createInterface({ input: process.stdin }).on('line', (line) => {
      const { id, method } = JSON.parse(line)
      if (method === 'notifications/initialized') require('node:fs').appendFileSync(${JSON.stringify(log)}, process.pid + '\\n')
      if (id === undefined) return
      const result = RESULTS[method]
      reply(id, result ? { result } : { error: { code: -32601, message: 'No.' } })
    })`
  const entry = { command: process.execPath, args: ['-e', program], pannier: { state: 'stateful', ...settings } }
  const starts = async (): Promise<string[]> => (await readFile(log, 'utf8')).trim().split('\n')
  return { entry, starts }
}

const clientOf = (url: string, user: string): Promise<AnyClient> => connectClient('v1', url, { 'x-user': user })

test('a new caller gets a process that is there already, and the next one is started', async () => {
  const { entry, starts } = await countedServer({ warm: 1 })
  const { url } = await startGateway({ it: entry }, { principal })
  const pids: string[] = []
  for (const [at, user] of ['ann', 'bob', 'cem'].entries()) {
    pids.push(await call(await clientOf(url, user), 'it_pid'))
    // One for the lists, one for each caller, and one ahead.
    await vi.waitFor(async () => expect(await starts()).toHaveLength(at + 3))
  }
  const [, , ...ahead] = await starts()
  expect(pids.slice(1)).toEqual(ahead.slice(0, 2))
})

test('a process ahead counts in maxProcesses, and gives way', async () => {
  const { entry, starts } = await countedServer({ warm: 4, maxProcesses: 2 })
  const { url, gateway } = await startGateway({ it: entry }, { principal })
  await call(await clientOf(url, 'ann'), 'it_pid')
  await vi.waitFor(async () => expect(await starts()).toHaveLength(3))
  await call(await connectClient('v2', url, { 'x-user': 'bob' }, {}), 'it_pid')
  await call(await clientOf(url, 'ann'), 'it_pid')
  expect(gateway.backends[0]?.sender.links).toBe(2)
})

test('a process ahead that ends is started again only for the next caller', async () => {
  const { entry, starts } = await countedServer({ warm: 1 })
  const { url } = await startGateway({ it: entry }, { principal })
  await call(await clientOf(url, 'ann'), 'it_pid')
  await vi.waitFor(async () => expect(await starts()).toHaveLength(3))
  const [, , ahead] = await starts()
  process.kill(Number(ahead), 'SIGKILL')
  for (const _ of [1, 2, 3]) await call(await clientOf(url, 'ann'), 'it_pid')
  expect(await starts()).toHaveLength(3)
  expect(await call(await clientOf(url, 'bob'), 'it_pid')).not.toBe(ahead)
  await vi.waitFor(async () => expect(await starts()).toHaveLength(5))
})

test('no process is started ahead where callers have credentials of their own', async () => {
  const { entry, starts } = await countedServer({ warm: 1 })
  const credentials = () => ({ env: { TOKEN: 'of the caller' } })
  const { url, gateway } = await startGateway({ it: entry }, { principal, credentials })
  for (const user of ['ann', 'bob']) await call(await clientOf(url, user), 'it_pid')
  expect(gateway.backends[0]?.sender.links).toBe(2)
  expect(await starts()).toHaveLength(3)
})

/** A server over HTTP that answers its tool with the session. */
async function sessionServer(settings: object) {
  const sessions: string[] = [] // initialised, in order
  const known = new Set<string>()
  const serve = async (req: IncomingMessage, res: ServerResponse): Promise<unknown> => {
    if (req.method !== 'POST') return res.writeHead(req.method === 'DELETE' ? 200 : 405).end()
    const { id, method } = (await json(req)) as { id?: number; method: string }
    const session = String(req.headers['mcp-session-id'] ?? randomUUID())
    if (method === 'initialize') known.add(session)
    if (!known.has(session)) return res.writeHead(req.headers['mcp-session-id'] === undefined ? 400 : 404).end()
    if (method === 'notifications/initialized') sessions.push(session)
    if (id === undefined) return res.writeHead(202).end()
    const about = {
      protocolVersion: '2025-11-25',
      capabilities: { tools: {} },
      serverInfo: { name: 'it', version: '1' },
    }
    const results: Record<string, object> = {
      initialize: about,
      'tools/list': { tools: [{ name: 'session', inputSchema: { type: 'object' } }] },
      'tools/call': { content: [{ type: 'text', text: session }] },
    }
    res.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': session })
    return res.end(JSON.stringify({ jsonrpc: '2.0', id, result: results[method] ?? {} }))
  }
  const http = createServer((req, res) => void serve(req, res))
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => http.close().closeAllConnections())
  const url = `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`
  return { entry: { url, pannier: { state: 'stateful', ...settings } }, sessions, known }
}

test('a new caller gets a session that has begun already, and no two callers have the same', async () => {
  const { entry, sessions } = await sessionServer({ warm: 1 })
  const { url } = await startGateway({ it: entry }, { principal })
  const used: string[] = []
  for (const [at, user] of ['ann', 'bob', 'cem'].entries()) {
    used.push(await call(await clientOf(url, user), 'it_session'))
    // One for the lists, one for each caller, and one ahead.
    await vi.waitFor(() => expect(sessions).toHaveLength(at + 3))
  }
  expect(used.slice(1)).toEqual(sessions.slice(2, 4))
  expect(new Set(used).size).toBe(3)
})

test('a session that was begun ahead, and that its server has forgotten, is replaced at its first call', async () => {
  const { entry, sessions, known } = await sessionServer({ warm: 2 })
  const { url } = await startGateway({ it: entry }, { principal })
  await call(await clientOf(url, 'ann'), 'it_session')
  await vi.waitFor(() => expect(sessions).toHaveLength(4))
  const forgotten = sessions.slice(2)
  for (const ahead of forgotten) known.delete(ahead)
  expect(forgotten).not.toContain(await call(await clientOf(url, 'bob'), 'it_session'))
})
