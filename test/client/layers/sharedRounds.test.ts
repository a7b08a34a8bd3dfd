/** The official client of version 2 with a handler of its own, and answerers for the rest, in both eras. */
import { Client, StreamableHTTPClientTransport } from '@modelcontextprotocol/client'
import { type Answerers, compose, rounds, tasks, tasksFetch } from 'pannier/client'
import { createServer } from 'pannier/server'
import { sqliteTasks } from 'pannier/tasks'
import { expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { quiet } from '../../interop/fixtures/instances.ts'
import { storePath } from '../../tasks/fixtures/echoServer.ts'

const form = { message: 'Who?', schema: z.object({ name: z.string() }) }
const prompt = { messages: [{ role: 'user' as const, content: { type: 'text' as const, text: 'Hi' } }], maxTokens: 9 }
const answerers: Answerers = { form: () => ({ action: 'accept', content: { name: 'Ann' } }) }

/** Its tool asks a form and a model in one round. */
async function startServer(task: 'required' | undefined): Promise<string> {
  const server = createServer({
    name: 'shared',
    version: '1.0.0',
    logger: quiet,
    tasks: sqliteTasks({ path: storePath() }),
  })
  server.tool('both', { description: 'Asks both.', ...(task && { task }) }, async (_, ctx) => {
    const [{ name }, { content }] = await Promise.all([ctx.ask('name', form), ctx.sample('words', prompt)])
    return `${name}: ${JSON.stringify(content)}`
  })
  const { url } = await server.listen({ drainOnTerm: false })
  onTestFinished(() => server.drain({ deadlineMs: 0 }))
  return url
}

test.each([
  ['auto', undefined],
  ['auto', 'required'],
  ['legacy', undefined],
  ['legacy', 'required'],
] as const)('a round asks both, and each answers its part: %s, task %s', async (mode, task) => {
  const sample = vi.fn(() => ({ role: 'assistant', model: 'own', content: { type: 'text', text: 'Hello' } }) as const)
  const own = { capabilities: { sampling: {} }, versionNegotiation: { mode } }
  const client = new Client({ name: 'own', version: '1' }, own)
  client.setRequestHandler('sampling/createMessage', sample)
  const layers = compose(rounds({ answerers }), tasks({ answerers }))
  const url = new URL(await startServer(task))
  await client.connect(layers(new StreamableHTTPClientTransport(url, { fetch: tasksFetch() })))
  onTestFinished(() => client.close())
  const { content } = await client.callTool({ name: 'both' })
  expect(content).toMatchObject([{ text: expect.stringMatching(/^Ann: .*Hello/) }])
  expect(sample).toHaveBeenCalledOnce()
})
