/** Pannier, with all its checks. */
import { createServer } from 'pannier/server'
import { newKey } from 'pannier/state'
import { z } from 'zod'
import type { Limit } from '../../load/load.ts'
import { echoName } from '../../load/messages.ts'
import { serveRequests } from '../ipc.ts'
import { fetchLoop } from './fetchLoop.ts'
import { readRole, type ServerRole } from '../role.ts'

const role = readRole<ServerRole>()
const server = createServer({ name: 'bench', version: '1.0.0', keys: newKey() })
const confirmation = z.object({ ok: z.boolean() })

function registerEcho(name: string): void {
  const input = z.object({ text: z.string() })
  server.tool(name, { description: 'Says it again', input }, async (args) => ({
    content: [{ type: 'text', text: args.text }],
  }))
}

function registerConfirm(): void {
  const input = z.object({ text: z.string() })
  server.tool('confirm', { description: 'Says it again once confirmed', input }, async (args, ctx) => {
    const { ok } = await ctx.ask('confirm', { message: `Say "${args.text}"?`, schema: confirmation })
    return { content: [{ type: 'text', text: ok ? args.text : 'Not confirmed' }] }
  })
}

if (role.tool === 'confirm') registerConfirm()
else for (let index = 0; index < role.registered; index++) registerEcho(echoName(index, role.registered))

if (role.transport === 'stdio') {
  void server.stdio()
  serveRequests({})
} else if (role.transport === 'fetch') {
  serveRequests({ fetch: (limit: Limit) => fetchLoop((request) => server.fetch(request), limit) })
} else {
  const { port } = await server.listen({ port: 0, host: '127.0.0.1' })
  serveRequests({}, { port })
}
