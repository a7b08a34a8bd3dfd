/** Servers of the session era that send requests without end, in the middle of a call. */
import type { IncomingMessage, ServerResponse } from 'node:http'
import { text } from 'node:stream/consumers'
import { expect, test, vi } from 'vitest'
import { hostUntil } from '../fixtures/until.ts'
import { call, type Wire } from '../fixtures/modernClient.ts'
import { startGateway } from './fixtures/gateways.ts'

const TOOLS = ['pings', 'add'].map((name) => ({ name, inputSchema: { type: 'object' } }))
const RESULTS: Readonly<Record<string, object>> = {
  initialize: {
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 'flood', version: '1' },
  },
  'tools/list': { tools: TOOLS },
}
const said = (what: string): object => ({ content: [{ type: 'text', text: what }] })

/** A server whose tool pings its client so often before it answers. `onAnswer` may take the answer to a ping, or not. */
async function pingingServer(pings: number, onAnswer: (res: ServerResponse) => void) {
  const sockets = { open: 0, most: 0 }
  const serve = async (req: IncomingMessage, res: ServerResponse): Promise<void> => {
    if (req.method !== 'POST') return void res.writeHead(405).end()
    const { id, method, params }: Wire = JSON.parse(await text(req))
    if (method === undefined) return onAnswer(res)
    if (method === 'server/discover' || id === undefined)
      return void res.writeHead(method === 'server/discover' ? 400 : 202).end()
    if (method === 'tools/call' && params.name === 'pings') return ping(id, res)
    res.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 'one' })
    res.end(JSON.stringify({ jsonrpc: '2.0', id, result: RESULTS[method] ?? said('added') }))
  }
  const ping = (id: number, res: ServerResponse): void => {
    res.writeHead(200, { 'content-type': 'text/event-stream' })
    const write = (message: object): unknown => res.write(`data: ${JSON.stringify({ jsonrpc: '2.0', ...message })}\n\n`)
    for (let turn = 0; turn < pings; turn++) write({ id: `ping ${turn}`, method: 'ping' })
    finish = () => {
      write({ id, result: said('pinged') })
      res.end()
    }
  }
  let finish = (): void => {}
  const host = await hostUntil((req, res) => void serve(req, res))
  host.server.on('connection', (socket) => {
    sockets.most = Math.max(sockets.most, ++sockets.open)
    socket.on('close', () => sockets.open--)
  })
  const { url } = await startGateway({
    flood: { url: host.url, pannier: { state: 'stateful' } },
  })
  return { url, sockets, finish: () => finish() }
}

test('a server that sends requests and takes no answers gets few connections, and the call ends with an error', async () => {
  const { url, sockets } = await pingingServer(3000, () => {})
  const { message } = await call(url, 'flood_pings', {})
  expect(message.error).toMatchObject({ data: { code: 'BACKEND_LOST', server: 'flood' } })
  expect(message.error.message).toContain('has more than 1000 requests of its own open')
  expect(sockets.most).toBeLessThan(60)
  expect((await call(url, 'flood_add', {})).message.result).toMatchObject(said('added'))
  await vi.waitFor(() => expect(sockets.open).toBeLessThan(10), { timeout: 10_000 })
})

test('a server that sends many requests and takes the answers gets all of them', async () => {
  let answers = 0
  const { url, sockets, finish } = await pingingServer(900, (res) => {
    res.writeHead(202).end()
    if (++answers === 900) finish()
  })
  expect((await call(url, 'flood_pings', {})).message.result).toMatchObject(said('pinged'))
  expect(sockets.most).toBeLessThan(60)
})
