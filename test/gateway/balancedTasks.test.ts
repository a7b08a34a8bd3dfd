/** Tasks of a session-era server through two gateways behind a plain balancer, for clients in a session. */
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { CallToolResultSchema, ElicitRequestSchema } from '@modelcontextprotocol/sdk/types.js'
import { connect } from 'pannier/client'
import { expect, onTestFinished, test } from 'vitest'
import { sdkTasks } from '../client/fixtures/servers/tasksSdkV1.ts'
import { startBalancer } from '../survival/balancer.ts'
import { sessionServer, startGateway } from './fixtures/gateways.ts'

/** Two gateways, which requests reach by turns. */
async function serveByTurns(): Promise<string> {
  const servers = { sdk: { url: (await sessionServer(undefined, sdkTasks)).url } }
  const balancer = await startBalancer()
  onTestFinished(() => balancer.close())
  const gateways = await Promise.all([1, 2].map(() => startGateway(servers)))
  balancer.targets = gateways.map(({ url }) => url)
  return balancer.url
}

/** Calls a tool as a task, and follows that to its result. */
async function followV1(client: ClientV1, name: string): Promise<unknown> {
  const { tasks } = client.experimental
  for await (const message of tasks.callToolStream({ name, arguments: {} }, CallToolResultSchema, { task: {} }))
    if (message.type === 'result') return message.result
  return undefined
}

test('the v1 client is asked by several tasks at once, at whichever gateway it waits for them', async () => {
  const client = new ClientV1({ name: 'v1', version: '1' }, { capabilities: { elicitation: {}, tasks: {} } })
  client.setRequestHandler(ElicitRequestSchema, () => ({ action: 'accept', content: { name: 'v1' } }))
  await client.connect(new HttpV1(new URL(await serveByTurns())))
  onTestFinished(() => client.close())
  await client.listTools() // by the list it knows what runs as a task
  const all = await Promise.all([1, 2, 3, 4, 5].map(() => followV1(client, 'sdk_greet')))
  for (const result of all) expect(result).toMatchObject({ content: [{ text: 'Dear v1' }] })
})

test('our client is asked by several tasks at once, in a session, at whichever gateway it waits for them', async () => {
  const form = () => ({ action: 'accept', content: { name: 'us' } })
  const client = await connect(await serveByTurns(), { era: 'session', answerers: { form } })
  onTestFinished(() => client.close())
  const all = await Promise.all([1, 2, 3].map(() => client.callTool({ name: 'sdk_greet', arguments: {} })))
  for (const result of all) expect(result).toMatchObject({ content: [{ text: 'Dear us' }] })
})
