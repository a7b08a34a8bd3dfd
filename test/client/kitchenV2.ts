/** A server of the official SDK v2: questions as results in the newer era, pushed in the older one. */
import { appendFileSync } from 'node:fs'
import { acceptedContent, inputRequired, McpServer } from '@modelcontextprotocol/server'
import * as z from 'zod'
import { NASTY, PIXEL } from './kitchen.ts'

const text = (value: string) => ({ content: [{ type: 'text' as const, text: value }] })
const nothing = z.object({})
const dish = z.object({ dish: z.string().default('soup') })

export function makeKitchenV2(): McpServer {
  const mcp = new McpServer({ name: 'kitchen', version: '1.0.0' }, { capabilities: { logging: {} } })
  const numbers = z.object({ a: z.number(), b: z.number() })
  mcp.registerTool('add', { description: 'Adds.', inputSchema: numbers }, ({ a, b }) => text(`${a + b}`))
  mcp.registerTool('fail', { inputSchema: nothing }, () => ({ ...text('It burnt.'), isError: true }))
  mcp.registerTool('nasty', { description: NASTY, inputSchema: nothing }, () => text(NASTY))
  mcp.registerTool('picture', { inputSchema: nothing }, () => ({
    content: [{ type: 'image', data: PIXEL, mimeType: 'image/png' }],
  }))
  mcp.registerTool('cook', { description: 'Asks what.', inputSchema: nothing }, (_, ctx) => {
    const chosen = acceptedContent(ctx.mcpReq.inputResponses, 'dish', dish)
    if (chosen !== undefined) return text(`Here is your ${chosen.dish}.`)
    if (ctx.mcpReq.inputResponses?.['dish'] !== undefined) return { ...text('You want nothing.'), isError: true }
    const question = inputRequired.elicit({ message: 'What shall it be?', requestedSchema: dish })
    return inputRequired({ inputRequests: { dish: question } })
  })
  mcp.registerTool('simmer', { inputSchema: nothing }, async (_, ctx) => {
    await ctx.mcpReq.log('info', 'on the stove')
    await new Promise((resolve) => ctx.mcpReq.signal.addEventListener('abort', resolve))
    appendFileSync(process.env['DONE'] ?? '/dev/null', 'cancelled\n')
    return text('off the stove')
  })
  mcp.registerPrompt('recipe', { argsSchema: z.object({ dish: z.string() }) }, (given) => ({
    messages: [{ role: 'user', content: { type: 'text', text: `Tell me how to cook ${given.dish}.` } }],
  }))
  mcp.registerResource('menu', 'menu://today', { mimeType: 'text/plain' }, () => ({
    contents: [{ uri: 'menu://today', text: 'Soup.' }],
  }))
  mcp.registerResource('photo', 'menu://photo.png', { mimeType: 'image/png' }, () => ({
    contents: [{ uri: 'menu://photo.png', blob: PIXEL, mimeType: 'image/png' }],
  }))
  return mcp
}
