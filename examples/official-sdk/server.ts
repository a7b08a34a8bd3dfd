/** A server of the official SDK whose tool asks in straight-line code. */
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { requestStateCodec, withJournal } from 'pannier/sdk'
import * as z from 'zod'

// #region state
const state = requestStateCodec({
  audience: 'releases', // the keys come from PANNIER_KEYS
  principal: (ctx) => ctx.http?.authInfo?.clientId,
})
const journaled = withJournal({ state })
// #endregion state

const confirmation = z.object({ sure: z.boolean() })

export function makeServer(): McpServer {
  // #region tool
  const server = new McpServer({ name: 'releases', version: '1.0.0' }, { requestState: { verify: state.verify } })

  server.registerTool(
    'deploy',
    { description: 'Deploys once somebody agrees', inputSchema: z.object({ env: z.string() }) },
    journaled('deploy', async ({ env }, ctx) => {
      const build = await ctx.step('build', () => `build for ${env}`)
      const { sure } = await ctx.ask('sure', { message: `Deploy the ${build}?`, schema: confirmation })
      return sure ? `Deployed the ${build}.` : 'Left as it was.'
    }),
  )
  // #endregion tool
  return server
}

export const handler = createMcpHandler(makeServer)
