import { createServer } from 'pannier/server'; import { z } from 'zod'
const server = createServer({ name: 'bench', version: '1.0.0', keys: 'A'.repeat(43), logger: { debug(){}, info(){}, warn(){}, error(){} } as any })
server.tool('echo', { description: 'e', input: z.object({ text: z.string() }) }, async (args) => ({ content: [{ type: 'text', text: args.text }] }))
console.log((await server.listen()).port)