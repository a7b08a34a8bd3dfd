/** A tool that asks before it starts, and then works in the background. Its tasks are in the file TASKS. */
import { createServer } from 'pannier/server'
import { sqliteTasks } from 'pannier/tasks'
import * as z from 'zod'
import { listenAsInstance } from '../listen.ts'

const { TASKS: path = 'tasks.db', INSTANCE: name = 'A' } = process.env
const tasks = sqliteTasks({ path, pollMs: 100 })
const server = createServer({ name: 'builds', version: '1.0.0', title: `Instance ${name}`, tasks })

// #region tool
const about = { description: 'Asks for a branch, and builds it.', task: 'optional', startsAs: 'call' } as const
server.tool('build', about, async (_, ctx) => {
  const { branch } = await ctx.ask('branch', {
    message: 'Which branch?',
    schema: z.object({ branch: z.string() }),
  })
  const task = await ctx.detach() // from here on the call is a task, and its client may leave
  const built = await task.step('build', () => `built by instance ${name}`) // your own work goes here
  return `${branch}: ${built}`
})
// #endregion tool

await listenAsInstance(server)
