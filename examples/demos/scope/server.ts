/** The two patterns of SEP-2260: a background task that asks on its own, and a tool that asks while it is called. */
import { type Context, createServer } from 'pannier/server'
import * as z from 'zod'
import { listenAsInstance } from '../listen.ts'

const server = createServer({ name: 'analysis', version: '1.0.0' })

function prompt(text: string): Parameters<Context['sample']>[1] {
  return { messages: [{ role: 'user', content: { type: 'text', text } }], maxTokens: 100 }
}

// #region background
/** Nothing outside a handler can ask: only a context can, and it ends with the response to its request. */
async function backgroundTask(ctx: Context): Promise<void> {
  await ctx.sample('summary', prompt('Anything new?'))
}

function reportRefusal(error: unknown): void {
  const { code, message } = error as Error & { code: string }
  process.send?.({ refused: { code, message } })
}

server.tool('start_background_task', { description: 'Starts a task that asks later.' }, (_, ctx) => {
  setImmediate(() => void backgroundTask(ctx).catch(reportRefusal))
  return 'The background task has begun.'
})
// #endregion background

// #region tool
const input = z.object({ data: z.string() })
server.tool(
  'analyze_data',
  { description: 'Has the model of the client look at data.', input },
  async ({ data }, ctx) => {
    const { content } = await ctx.sample('analysis', prompt(`Analyze ${data}`))
    const [said] = [content].flat()
    return said?.type === 'text' ? said.text : 'The model said nothing.'
  },
)
// #endregion tool

await listenAsInstance(server)
