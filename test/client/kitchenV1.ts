/** A server of the official SDK v1, which has sessions and pushes its questions. */
import { appendFileSync } from 'node:fs'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { z } from 'zod'
import { NASTY, PIXEL } from './kitchen.ts'

const text = (value: string) => ({ content: [{ type: 'text' as const, text: value }] })

export function makeKitchenV1(): McpServer {
  const mcp = new McpServer({ name: 'kitchen', version: '1.0.0' }, { capabilities: { logging: {} } })
  const input = { a: z.number(), b: z.number() }
  mcp.registerTool('add', { description: 'Adds.', inputSchema: input }, ({ a, b }) => text(`${a + b}`))
  mcp.registerTool('fail', { description: 'Fails.' }, () => ({ ...text('It burnt.'), isError: true }))
  mcp.registerTool('nasty', { description: NASTY }, () => text(NASTY))
  mcp.registerTool('picture', { description: 'Draws.' }, () => ({
    content: [{ type: 'image', data: PIXEL, mimeType: 'image/png' }],
  }))
  mcp.registerTool('cook', { description: 'Asks what.' }, async () => {
    const { action, content } = await mcp.server.elicitInput({
      message: 'What shall it be?',
      requestedSchema: {
        type: 'object',
        properties: { dish: { type: 'string', default: 'soup' } },
        required: ['dish'],
      },
    })
    if (action !== 'accept') throw new Error('The question "dish" was declined.')
    return text(`Here is your ${String(content?.['dish'])}.`)
  })
  mcp.registerTool('simmer', { description: 'Works until it is cancelled.' }, async (extra) => {
    await extra.sendNotification({ method: 'notifications/message', params: { level: 'info', data: 'on the stove' } })
    await new Promise((resolve) => extra.signal.addEventListener('abort', resolve))
    appendFileSync(process.env['DONE'] ?? '/dev/null', 'cancelled\n')
    return text('off the stove')
  })
  mcp.registerPrompt('recipe', { argsSchema: { dish: z.string() } }, ({ dish }) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `Tell me how to cook ${dish}.` } }],
  }))
  mcp.registerResource('menu', 'menu://today', { mimeType: 'text/plain' }, () => ({
    contents: [{ uri: 'menu://today', text: 'Soup.' }],
  }))
  mcp.registerResource('photo', 'menu://photo.png', { mimeType: 'image/png' }, () => ({
    contents: [{ uri: 'menu://photo.png', blob: PIXEL, mimeType: 'image/png' }],
  }))
  return mcp
}
