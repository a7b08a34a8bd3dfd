import { z } from 'zod'
import { assemble } from './src/server/assemble.ts'
import { toolEntry } from './src/server/entries.ts'
import { parseBytes } from './src/server/bodyText.ts'
const a = assemble({ name: 'bench', version: '1.0.0', keys: 'A'.repeat(43) })
a.registry.addTool(toolEntry('echo', { description: 'e', input: z.object({ text: z.string() }) }, async (args: any) => ({ content: [{ type: 'text', text: args.text }] })))
const body = Buffer.from(JSON.stringify({ jsonrpc: '2.0', id: 12345, method: 'tools/call', params: { name: 'echo', arguments: { text: 'hello there, this is text' }, _meta: { 'io.modelcontextprotocol/protocolVersion': '2026-07-28', 'io.modelcontextprotocol/clientInfo': { name: 'bench-client', version: '1.0.0' }, 'io.modelcontextprotocol/clientCapabilities': { elicitation: {} } } } }))
const headers: any = { host: 'localhost', 'content-type': 'application/json', accept: 'application/json, text/event-stream', 'mcp-protocol-version': '2026-07-28', 'mcp-method': 'tools/call', 'mcp-name': 'echo' }
const header = (n: string) => headers[n]
const sink: any = { gone: false, open() {}, write() {}, end() {}, onGone() {} }
async function main(n: number) {
  const c = process.cpuUsage()
  for (let i = 0; i < n; i++) await a.door.handle({ method: 'POST', header, json: () => parseBytes(body) }, sink)
  const d = process.cpuUsage(c)
  console.log('door', ((d.user + d.system) / n).toFixed(2), 'us/req')
}
function parse(n: number) {
  let c = process.cpuUsage()
  for (let i = 0; i < n; i++) parseBytes(body)
  let d = process.cpuUsage(c)
  console.log('parseBytes', ((d.user + d.system) / n).toFixed(2))
  c = process.cpuUsage()
  for (let i = 0; i < n; i++) JSON.parse(body.toString())
  d = process.cpuUsage(c)
  console.log('JSON.parse', ((d.user + d.system) / n).toFixed(2))
}
await main(100000); await main(200000); await main(200000); parse(200000); parse(200000)
