/** The echo tool of SEP-2322's persistent workflow. Its tasks are in the file TASKS. */
import { createServer } from 'pannier/server'
import { sqliteTasks } from 'pannier/tasks'
import { listenAsInstance } from '../listen.ts'

const { TASKS: path = 'tasks.db' } = process.env
const server = createServer({ name: 'echo', version: '1.0.0', tasks: sqliteTasks({ path, pollMs: 100 }) })

// #region tool
const schema = { type: 'object', properties: { input: { type: 'string' } }, required: ['input'] } as const
server.tool('echo', { description: 'Says it again.', task: 'optional' }, async (_, ctx) => {
  const { input } = (await ctx.ask('echo_input', {
    mode: 'form',
    message: 'Please provide the input string to echo back',
    schema,
  })) as { input: string }
  return { isError: false, content: [{ type: 'text', text: `Echo: ${input}` }] }
})
// #endregion tool

await listenAsInstance(server)
