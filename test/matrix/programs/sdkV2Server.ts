/** A stateless server of the official SDK v2 with one tool for each behaviour, over HTTP or on standard input and output. */
import { createServer, type RequestListener } from 'node:http'
import type { AddressInfo } from 'node:net'
import { toNodeHandler } from '@modelcontextprotocol/node'
import {
  type CallToolResult,
  createMcpHandler,
  createRequestStateCodec,
  type InputRequest,
  type InputRequests,
  inputRequired,
  type InputRequiredResult,
  McpServer,
  ResourceTemplate,
  type ServerContext,
} from '@modelcontextprotocol/server'
import { serveStdio, StdioServerTransport } from '@modelcontextprotocol/server/stdio'
import * as z from 'zod'
import { change, changingDescription, onChange, waitForCancel, write } from '../serving/effects.ts'
import { tappedLines } from '../serving/lines.ts'
import { pageFrom } from '../serving/pages.ts'

const isHttp = process.argv.includes('--http')
const updates: (() => void)[] = []

type Answers = Record<string, unknown>
type Ask = (message: string, request: InputRequest) => Promise<unknown>
type Run = (ask: Ask, key: string, ctx: ServerContext) => Promise<string>

const codec = createRequestStateCodec<Answers>({ key: new Uint8Array(32).fill(7) })
const inputSchema = z.object({ key: z.string() })
const said = (text: string): CallToolResult => ({ content: [{ type: 'text', text }] })
const requestedSchema = { type: 'object' as const, properties: { name: { type: 'string' as const } } }

/** Runs a tool over the answers so far, which its state carries; what it asks beyond them ends the round. */
async function inRounds(run: Run, key: string, ctx: ServerContext): Promise<CallToolResult | InputRequiredResult> {
  const before = ctx.mcpReq.requestState<Answers>()
  if (before === undefined) write('began', key)
  const answers: Answers = { ...before, ...ctx.mcpReq.inputResponses }
  const inputRequests: InputRequests = {}
  const ask: Ask = async (message, request) => {
    if (message in answers) return answers[message]
    inputRequests[message] = request
    return new Promise(() => {})
  }
  const ended = run(ask, key, ctx)
  // By then it has asked all that it can ask with these answers, or it asks nothing.
  await Promise.race([ended, new Promise((resolve) => setImmediate(resolve))])
  if (Object.keys(inputRequests).length > 0)
    return inputRequired({ inputRequests, requestState: await codec.mint(answers) })
  const text = await ended
  write('done', key)
  return said(text)
}

function tools(): McpServer {
  const capabilities = { logging: {}, resources: { subscribe: true, listChanged: true } }
  const server = new McpServer(
    { name: 'matrix', version: '1.0.0' },
    { capabilities, requestState: { verify: codec.verify } },
  )
  offerAsking(server)
  offerTelling(server)
  offerChanging(server)
  return server
}

function offerAsking(server: McpServer): void {
  const offer = (name: string, run: Run, annotations = {}): void => {
    server.registerTool(name, { description: name, inputSchema, annotations }, ({ key }, ctx) =>
      inRounds(run, key, ctx),
    )
  }
  const name = async (ask: Ask, message: string): Promise<string> => {
    const answer = (await ask(message, inputRequired.elicit({ message, requestedSchema }))) as {
      action: string
      content?: { name?: string }
    }
    return answer.action === 'accept' ? String(answer.content?.name) : answer.action
  }
  const askTwice: Run = async (ask, key) => `${await name(ask, `First? ${key}`)} ${await name(ask, `Second? ${key}`)}`
  offer('plain', async () => 'plain')
  offer('one', (ask, key) => name(ask, `Name? ${key}`))
  offer('two', askTwice)
  offer('two_again', askTwice, { idempotentHint: true })
  offer('many', async (ask, key) =>
    (await Promise.all(['A?', 'B?', 'C?'].map((text) => name(ask, `${text} ${key}`)))).join(' '),
  )
  offer('decline', (ask, key) => name(ask, `Decline? ${key}`))
  offer('cancel', (ask, key) => name(ask, `Cancel? ${key}`))
  offer('visit', async (ask, key) => {
    const page = { message: `Visit? ${key}`, url: `https://example.com/${key}` }
    return ((await ask(page.message, inputRequired.elicitUrl(page))) as { action: string }).action
  })
  offer('sample', async (ask, key) => {
    const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: `Think. ${key}` } }]
    const sampled = await ask('words', inputRequired.createMessage({ messages, maxTokens: 10 }))
    return String((sampled as { content: { text?: string } }).content.text)
  })
  offer('roots', async (ask) => {
    const { roots } = (await ask('folders', inputRequired.listRoots())) as { roots: { uri: string }[] }
    return roots.map(({ uri }) => uri).join(' ')
  })
  offer('progress', async (_, _key, ctx) => {
    const progressToken = ctx.mcpReq._meta?.progressToken
    for (const progress of [1, 2, 3])
      if (progressToken !== undefined)
        await ctx.mcpReq.notify({ method: 'notifications/progress', params: { progressToken, progress, total: 3 } })
    return 'reported'
  })
  offer('log', async (_, key, ctx) => {
    for (const turn of [1, 2, 3]) await ctx.mcpReq.log('info', `${key} ${turn}`)
    return 'logged'
  })
}

function offerTelling(server: McpServer): void {
  server.registerTool('cancelled', { description: 'cancelled', inputSchema }, async ({ key }, ctx) => {
    await waitForCancel(key, ctx.mcpReq.signal)
    return said('cancelled')
  })
  const described = { description: 'structured', inputSchema, outputSchema: inputSchema }
  server.registerTool('structured', described, ({ key }) => ({ ...said('structured'), structuredContent: { key } }))
  server.registerTool('failed', { description: 'failed', inputSchema }, () => {
    throw new Error('It broke.')
  })
}

function offerChanging(server: McpServer): void {
  server.registerTool('change', { description: 'change', inputSchema }, () => {
    change('list')
    return said('changed')
  })
  server.registerTool('touch', { description: 'touch', inputSchema }, ({ key }) => {
    change(`note://${key}`)
    return said('touched')
  })
  const note = new ResourceTemplate('note://{key}', { list: undefined })
  server.registerResource('note', note, {}, (uri) => ({ contents: [{ uri: uri.href, text: uri.href }] }))
  server.server.setRequestHandler('resources/list', ({ params }) => {
    const { uris, ...next } = pageFrom(params?.cursor)
    return { resources: uris.map((uri) => ({ uri, name: uri })), ...next }
  })
  const changing = server.registerTool('changing', { description: changingDescription(), inputSchema }, () => said(''))
  // On standard input and output one server lives for long, and tells itself what has changed.
  if (!isHttp) updates.push(() => changing.update({ description: changingDescription() }))
}

if (isHttp) {
  const handler = createMcpHandler(tools)
  onChange((what) => (what === 'list' ? handler.notify.toolsChanged() : handler.notify.resourceUpdated(what)))
  // Its parameter types miss `| undefined` under exactOptionalPropertyTypes.
  const host = createServer(toNodeHandler(handler) as RequestListener)
  const port = Number(process.env['PORT'] ?? 0)
  host.listen(port, '127.0.0.1', () => console.log((host.address() as AddressInfo).port))
} else {
  const { input, output } = tappedLines()
  const servers: McpServer[] = []
  const build = (): McpServer => {
    const server = tools()
    servers.push(server)
    return server
  }
  onChange((what) => {
    if (what === 'list') for (const update of updates) update()
    else for (const { server } of servers) server.sendResourceUpdated({ uri: what }).catch(() => {})
  })
  serveStdio(build, { transport: new StdioServerTransport(input, output) })
}
