/** A server of the official SDK v1 with a tool that takes some time, and one that asks twice. */
import { appendFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { z } from 'zod'

const NAMED = { type: 'object', properties: { name: { type: 'string' } } } as const
const said = (text: string) => ({ content: [{ type: 'text' as const, text }] })

/** What a tool notes when it begins a call. */
export function begins(key: string): void {
  appendFileSync(process.env['EFFECTS'] ?? '', `${key}\n`)
}

export function workTools(): McpServer {
  const server = new McpServer({ name: 'work', version: '1.0.0' })
  server.registerTool(
    'work',
    { description: 'Takes some time.', inputSchema: { key: z.string(), ms: z.number() } },
    async ({ key, ms }) => {
      begins(key)
      await sleep(ms)
      return said('worked')
    },
  )
  server.registerTool('ask', { description: 'Asks twice.', inputSchema: { key: z.string() } }, async ({ key }) => {
    begins(key)
    const names: unknown[] = []
    for (const message of ['First?', 'Second?']) {
      const { content } = await server.server.elicitInput({ message, requestedSchema: { ...NAMED } })
      names.push(content?.['name'])
    }
    return said(names.join(' '))
  })
  return server
}
