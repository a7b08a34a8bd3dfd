/** The kitchen of the official SDK v1: `stdio`, or HTTP in sessions with its address in its first line. */
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { makeSdkV1Server } from '../fixtures/servers/sdkV1.ts'

if (process.argv.includes('stdio')) await makeSdkV1Server().connect(new StdioServerTransport())
else {
  const sessions = new Map<string, StreamableHTTPServerTransport>()
  const http = createServer((req, res) => {
    const id = String(req.headers['mcp-session-id'] ?? '')
    const known = sessions.get(id)
    if (known !== undefined) return void known.handleRequest(req, res)
    if (req.headers['mcp-session-id'] !== undefined) return void res.writeHead(404).end()
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (given) => void sessions.set(given, transport),
    })
    void makeSdkV1Server()
      .connect(transport as Transport)
      .then(() => transport.handleRequest(req, res))
  })
  http.listen(0, '127.0.0.1', () => {
    process.stdout.write(`http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp\n`)
  })
}
