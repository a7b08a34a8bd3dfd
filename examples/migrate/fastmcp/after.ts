/** A server of FastMCP for TypeScript, as `npx pannier-migrate` finds it. */
import { createServer } from 'pannier/server'
import { z } from 'zod'

// #region tool
const server = createServer({
  name: 'recipes',
  version: '1.0.0',
})

server.tool(
  'scale',
  {
    description: 'Scales an amount',
    input: z.object({ grams: z.number(), by: z.number() }),
    annotations: { readOnlyHint: true },
  },
  async ({ grams, by }, ctx) => {
    ctx.log('info', { message: 'scaling', context: { by } })
    ctx.progress(1, 1)
    return `${grams * by} g`
  },
)
// #endregion tool

// #region ask
server.tool(
  'cook',
  {
    description: 'Cooks once somebody agrees',
    input: z.object({ dish: z.string() }),
  },
  async ({ dish }, context) => {
    const answer = await context.elicit('answer', {
      message: `Cook ${dish}?`,
      schema: { type: 'object', properties: { sure: { type: 'boolean' } }, required: ['sure'] },
    })
    return answer.action === 'accept' ? `${dish} is on the stove.` : { content: [{ type: 'text', text: 'Left raw.' }] }
  },
)
// #endregion ask

server.resource(
  'recipes://all',
  {
    name: 'All recipes',
    mimeType: 'text/plain',
  },
  async () => {
    return 'soup\nbread'
  },
)

server.resourceTemplate(
  'recipes://{dish}',
  {
    name: 'One recipe',
  },
  async (_uri, { dish }) => `How to make ${dish}`,
)

server.prompt(
  'menu',
  {
    description: 'Plans a menu',
    input: z.object({ season: z.string().describe('The time of the year'), diet: z.string().optional() }),
  },
  async ({ season }) => `A menu for ${season}`,
)

// #region serve
void server.stdio()
// #endregion serve
