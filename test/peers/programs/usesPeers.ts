/** Uses every optional peer of the package once, as an application would, and prints what came of it as one line of JSON. */
import { createMcpHandler, McpServer } from '@modelcontextprotocol/server'
import { connect, fixed } from 'pannier/client'
import { createGateway, prometheusMetrics, readGatewayConfig } from 'pannier/gateway'
import { postgres, postgresBus, postgresCarryStore, postgresLedger, postgresTasks } from 'pannier/postgres'
import { requestStateCodec, withJournal } from 'pannier/sdk'
import { createServer } from 'pannier/server'
import { newKey } from 'pannier/state'
import { writeFile } from 'node:fs/promises'
import * as z from 'zod'

const keys = newKey()
const schema = z.object({ sure: z.boolean() })
const answerers = { form: fixed({ sure: { sure: true } }) }

/** A task in PostgreSQL that asks; `once` outside of tasks; an event of the bus. */
async function withPg(): Promise<string> {
  const database = postgres({ url: process.env['DATABASE'] ?? '' })
  const bus = postgresBus(database)
  const server = createServer({
    name: 'books',
    version: '1.0.0',
    keys,
    bus,
    tasks: postgresTasks(database),
    ledger: postgresLedger(database),
    store: postgresCarryStore(database),
  })
  server.tool('print', { description: 'Prints', task: 'required' }, async (_, ctx) => {
    const page = await ctx.step('lay out', () => 1)
    const { sure } = await ctx.ask('sure', { message: 'Print?', schema })
    return `page ${page}: ${sure}`
  })
  server.tool('pay', { description: 'Pays' }, async (_, ctx) => {
    const { sure } = await ctx.ask('sure', { message: 'Pay?', schema })
    return `${await ctx.once('pay', () => 'paid')}: ${sure}`
  })
  const { url } = await server.listen({ port: 0 })
  const client = await connect(url, { answerers, name: 'peers', version: '1.0.0' })
  const texts = [await textOf(client.callTool({ name: 'print' })), await textOf(client.callTool({ name: 'pay' }))]
  await client.close()
  await server.drain()
  await database.close()
  return texts.join('; ')
}

/** A tool of the official SDK's server that asks. */
async function withSdkServer(): Promise<string> {
  const state = requestStateCodec({ audience: 'releases', keys })
  const journaled = withJournal({ state })
  const { fetch } = createMcpHandler(() => {
    const server = new McpServer({ name: 'releases', version: '1.0.0' }, { requestState: { verify: state.verify } })
    const run = journaled('deploy', async (_, ctx) => {
      const { sure } = await ctx.ask('sure', { message: 'Deploy?', schema })
      return `deployed: ${sure}`
    })
    server.registerTool('deploy', { description: 'Deploys', inputSchema: z.object({}) }, run)
    return server
  })
  const client = await connect('http://127.0.0.1/mcp', {
    answerers,
    name: 'peers',
    version: '1.0.0',
    fetch: (input, init) => fetch(new Request(input, init)),
  })
  const text = await textOf(client.callTool({ name: 'deploy', arguments: {} }))
  await client.close()
  return text
}

/** A call through a gateway, counted for Prometheus. */
async function withMetrics(): Promise<string> {
  const server = createServer({ name: 'calc', version: '1.0.0', keys })
  server.tool('one', { description: 'Gives one' }, () => '1')
  const { url } = await server.listen({ port: 0 })
  await writeFile('mcp.json', JSON.stringify({ mcpServers: { calc: { url } } }))
  const metrics = await prometheusMetrics()
  const gateway = createGateway(await readGatewayConfig('mcp.json'))
  const client = await connect((await gateway.listen({ port: 0 })).url, { name: 'peers', version: '1.0.0' })
  const text = await textOf(client.callTool({ name: 'calc_one' }))
  const [line = 'no metric'] = /^pannier_gateway_calls\S*\{.*\} \d+$/m.exec((await metrics?.()) ?? '') ?? []
  await client.close()
  await gateway.drain()
  await server.drain()
  return `${text}; ${line.replace(/\{.*\}/, '')}`
}

async function textOf(calling: Promise<{ content?: unknown }>): Promise<string> {
  const [first] = (await calling).content as { text: string }[]
  return first?.text ?? ''
}

console.log(JSON.stringify({ pg: await withPg(), sdk: await withSdkServer(), metrics: await withMetrics() }))
process.exit() // pools and agents may hold idle connections
