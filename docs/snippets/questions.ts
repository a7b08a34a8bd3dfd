/** The code of the guide "Ask people whose client cannot be asked". */
// #region imports
import { bearer, createServer, type Principal, type Server, type Tasks } from 'pannier/server'
import { z } from 'zod'
// #endregion imports

export function branchServer(tasks: Tasks, url: string): Server {
  // #region server
  const server = createServer({ name: 'branches', version: '1.0.0', tasks, questions: { url } })

  const input = z.object({ branch: z.string() })
  server.tool(
    'delete_branch',
    { description: 'Deletes a branch.', input, needs: ['elicitation'] },
    async ({ branch }, ctx) => {
      const { sure } = await ctx.ask('sure', {
        message: `Delete the branch ${branch}?`,
        schema: z.object({ sure: z.boolean() }),
      })
      return sure ? `The branch ${branch} is gone.` : `The branch ${branch} stays.`
    },
  )
  // #endregion server
  return server
}

// #region list
/** What one person has to answer, as lines of your own page. */
export async function inbox(server: Server, person: Principal): Promise<string[]> {
  const { questions } = await server.questions.open({ for: person })
  return questions.map(({ id, caller, message }) => `${id} ${caller}: ${message}`)
}

export async function approve(server: Server, id: string, person: Principal): Promise<void> {
  await server.questions.answer(id, { approve: true }, person)
}
// #endregion list

export function refundServer(tasks: Tasks, clientSecret: string): Server {
  // #region login
  const server = createServer({
    name: 'refunds',
    version: '1.0.0',
    principal: bearer({ issuer: 'https://login.example.com', audience: 'https://mcp.example.com/mcp' }),
    tasks,
    questions: {
      url: 'https://mcp.example.com/mcp',
      login: { issuer: 'https://login.example.com', clientId: 'refunds', clientSecret },
    },
  })
  // #endregion login
  return server
}
