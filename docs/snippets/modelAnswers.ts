/** The code of the guide "Let a model answer, and follow tasks by tools". */
import { createServer, type Server } from 'pannier/server'
import { sqliteTasks } from 'pannier/tasks'
import { z } from 'zod'

export function mapServer(path: string): Server {
  // #region answer
  const server = createServer({
    name: 'maps',
    version: '1.0.0',
    tasks: sqliteTasks({ path }),
    questions: { askModel: true },
  })

  server.tool('measure', { description: 'Measures a route.' }, async (_, ctx) => {
    const { unit } = await ctx.ask('unit', {
      message: 'In kilometres or miles?',
      schema: z.object({ unit: z.enum(['km', 'miles']) }),
      askModel: true,
    })
    return `42 ${unit}`
  })
  // #endregion answer
  return server
}

export function bookServer(path: string): Server {
  // #region tools
  const server = createServer({ name: 'books', version: '1.0.0', tasks: sqliteTasks({ path, asTools: true }) })
  // #endregion tools
  return server
}
