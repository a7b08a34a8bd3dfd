/** The code of docs/how-to/both-eras.md. */
// #region imports
import { createServer, type Server } from 'pannier/server'
import { z } from 'zod'
// #endregion imports

// #region server
export function deployServer(keys: string): Server {
  const server = createServer({ name: 'deploy', version: '1.0.0', keys })
  const input = z.object({ service: z.string() })
  return server.tool('deploy', { description: 'Deploys a service.', input }, async ({ service }, ctx) => {
    const { version } = await ctx.ask('version', {
      message: `Which version of ${service}?`,
      schema: z.object({ version: z.string() }),
    })
    const { sure } = await ctx.ask('sure', {
      message: `Deploy ${service} ${version} now?`,
      schema: z.object({ sure: z.boolean() }),
    })
    return sure ? `Deployed ${service} ${version} for a client of the ${ctx.era} era.` : 'Not deployed.'
  })
}
// #endregion server

// #region modern-only
export const modernOnly = createServer({ name: 'modern-only', version: '1.0.0', legacy: false })
// #endregion modern-only

// #region assume
/** Our own agents echo states since their version 3, and do not declare it. */
export function trusting(keys: string): Server {
  return createServer({
    name: 'trusting',
    version: '1.0.0',
    keys,
    assume: ({ name, version = '' }) => ({ stateEcho: name === 'our-agent' && Number.parseInt(version) >= 3 }),
  })
}
// #endregion assume

// #region hang-up
/** Closes the stream of a client of 2025-11-25 during long work; the client reconnects for the result. */
export function offerReport(server: Server, work: () => Promise<string>): Server {
  return server.tool('report', { description: 'Writes a long report.' }, async (_, ctx) => {
    ctx.hangUp(500) // the client reconnects after half a second; for other clients this does nothing
    return work()
  })
}
// #endregion hang-up
