/** A server of FastMCP for TypeScript, as `npx pannier-migrate` finds it. */
import { FastMCP } from 'fastmcp'
import { z } from 'zod'

// #region tool
const server = new FastMCP({
  name: 'recipes',
  version: '1.0.0',
  ping: { intervalMs: 10_000 },
})

server.addTool({
  name: 'scale',
  description: 'Scales an amount',
  parameters: z.object({ grams: z.number(), by: z.number() }),
  annotations: { readOnlyHint: true },
  execute: async ({ grams, by }, { log, reportProgress }) => {
    log.info('scaling', { by })
    await reportProgress({ progress: 1, total: 1 })
    return `${grams * by} g`
  },
})
// #endregion tool

// #region ask
server.addTool({
  name: 'cook',
  description: 'Cooks once somebody agrees',
  parameters: z.object({ dish: z.string() }),
  execute: async ({ dish }, context) => {
    const answer = await context.elicit({
      message: `Cook ${dish}?`,
      requestedSchema: { type: 'object', properties: { sure: { type: 'boolean' } }, required: ['sure'] },
    })
    return answer.action === 'accept' ? `${dish} is on the stove.` : { type: 'text', text: 'Left raw.' }
  },
})
// #endregion ask

server.addResource({
  uri: 'recipes://all',
  name: 'All recipes',
  mimeType: 'text/plain',
  async load() {
    return { text: 'soup\nbread' }
  },
})

server.addResourceTemplate({
  uriTemplate: 'recipes://{dish}',
  name: 'One recipe',
  arguments: [{ name: 'dish', required: true }],
  load: async ({ dish }) => ({ text: `How to make ${dish}` }),
})

server.addPrompt({
  name: 'menu',
  description: 'Plans a menu',
  arguments: [
    { name: 'season', description: 'The time of the year', required: true },
    { name: 'diet', required: false },
  ],
  load: async ({ season }) => `A menu for ${season}`,
})

// #region serve
await server.start({ transportType: 'stdio' })
// #endregion serve
