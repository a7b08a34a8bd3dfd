import { createServer } from 'node:http'
const s = createServer((request, response) => { const chunks: Buffer[] = []; request.on('data', (c) => chunks.push(c)); request.on('end', () => { const m = JSON.parse(chunks.length === 1 ? chunks[0]!.toString() : Buffer.concat(chunks).toString())
 const a = JSON.stringify({ jsonrpc: '2.0', id: m.id, result: { resultType: 'complete', content: [{ type: 'text', text: m.params.arguments.text }] } })
 response.writeHead(200, ['Content-Type', 'application/json', 'Content-Length', String(Buffer.byteLength(a))]); response.end(a) }) })
s.listen(0, '127.0.0.1', () => console.log((s.address() as any).port))