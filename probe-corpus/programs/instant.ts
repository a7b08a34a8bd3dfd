/** An HTTP server that answers at once, and at `/slow` after half a second. It measures the probe's own time. */
import { createServer } from 'node:http'
import { text } from 'node:stream/consumers'
import { setTimeout as pause } from 'node:timers/promises'

const SLOW_MS = 500
const RESULTS: Readonly<Record<string, object>> = {
  initialize: {
    protocolVersion: '2025-06-18',
    capabilities: { tools: {}, prompts: {}, resources: {} },
    serverInfo: { name: 'instant', version: '1.0.0' },
  },
  'tools/list': { tools: [{ name: 'hello', inputSchema: { type: 'object' } }] },
  'prompts/list': { prompts: [] },
  'resources/list': { resources: [] },
}

createServer((req, res) => {
  const answer = async (): Promise<unknown> => {
    if (req.method !== 'POST') return res.writeHead(405).end()
    const { id, method } = JSON.parse(await text(req)) as { id?: number; method: string }
    if (req.url === '/slow') await pause(SLOW_MS)
    if (id === undefined) return res.writeHead(202).end()
    const result = RESULTS[method]
    const reply = result === undefined ? { error: { code: -32601, message: 'Method not found' } } : { result }
    res.writeHead(200, { 'content-type': 'application/json' })
    return res.end(JSON.stringify({ jsonrpc: '2.0', id, ...reply }))
  }
  void answer()
}).listen(Number(process.argv[2]), '127.0.0.1')
