/**
 * A server of the official SDK v1 with one tool for each behaviour, on standard input and output or over HTTP with sessions.
 * What its tools do is written to the file EFFECTS.
 */
import { randomUUID } from 'node:crypto'
import { appendFileSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { z } from 'zod'

const file = process.env['EFFECTS'] ?? ''
const write = (what: string, key: string): void => appendFileSync(file, `${what} ${key} ${process.pid}\n`)
const said = (text: string) => ({ content: [{ type: 'text' as const, text }] })
const named = { type: 'object', properties: { name: { type: 'string' } } } as const
const inputSchema = { key: z.string() }

function tools(): McpServer {
  const server = new McpServer({ name: 'matrix', version: '1.0.0' }, { capabilities: { logging: {} } })
  const ask = async (message: string): Promise<string> => {
    const { action, content } = await server.server.elicitInput({ message, requestedSchema: { ...named } })
    return action === 'accept' ? String(content?.['name']) : action
  }
  const offer = (name: string, run: () => Promise<string>, annotations = {}): void => {
    server.registerTool(name, { description: name, inputSchema, annotations }, async ({ key }) => {
      write('began', key)
      const text = await run()
      write('done', key)
      return said(text)
    })
  }
  offer('plain', async () => 'plain')
  offer('one', () => ask('Name?'))
  offer('two', async () => `${await ask('First?')} ${await ask('Second?')}`)
  offer('two_again', async () => `${await ask('First?')} ${await ask('Second?')}`, { idempotentHint: true })
  offer('many', async () => (await Promise.all(['A?', 'B?', 'C?'].map(ask))).join(' '))
  offer('decline', () => ask('Decline?'))
  offer('cancel', () => ask('Cancel?'))
  offer('sample', async () => {
    const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: 'Think.' } }]
    const { content } = await server.server.createMessage({ messages, maxTokens: 10 })
    return 'text' in content ? String(content.text) : ''
  })
  offer('roots', async () => (await server.server.listRoots()).roots.map(({ uri }) => uri).join(' '))
  server.registerTool('progress', { description: 'progress', inputSchema }, async ({ key }, extra) => {
    write('began', key)
    const progressToken = extra._meta?.progressToken
    for (const progress of [1, 2, 3])
      if (progressToken !== undefined)
        await extra.sendNotification({
          method: 'notifications/progress',
          params: { progressToken, progress, total: 3 },
        })
    write('done', key)
    return said('reported')
  })
  server.registerTool('cancelled', { description: 'cancelled', inputSchema }, async ({ key }, { signal }) => {
    write('began', key)
    await new Promise<void>((resolve) => signal.addEventListener('abort', () => resolve()))
    write('cancelled', key)
    return said('cancelled')
  })
  const outputSchema = { key: z.string() }
  server.registerTool('structured', { description: 'structured', inputSchema, outputSchema }, ({ key }) => ({
    ...said('structured'),
    structuredContent: { key },
  }))
  server.registerTool('failed', { description: 'failed', inputSchema }, () => {
    throw new Error('It broke.')
  })
  return server
}

const sessions = new Map<string, StreamableHTTPServerTransport>()

if (process.argv.includes('--http')) {
  const host = createServer((req, res) => {
    const id = req.headers['mcp-session-id']
    const known = sessions.get(String(id))
    if (known !== undefined) return void known.handleRequest(req, res)
    if (id !== undefined) return void res.writeHead(404).end()
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (given) => void sessions.set(given, transport),
      onsessionclosed: (given) => void sessions.delete(given),
    })
    void tools()
      .connect(transport as Transport)
      .then(() => transport.handleRequest(req, res))
  })
  const port = Number(process.env['PORT'] ?? 0)
  host.listen(port, '127.0.0.1', () => console.log((host.address() as AddressInfo).port))
} else {
  // As the specification has it. The SDK by itself goes on until a question that is open has waited for a minute.
  process.stdin.once('end', () => process.exit())
  await tools().connect(new StdioServerTransport())
}
