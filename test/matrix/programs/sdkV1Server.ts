/**
 * A server of the official SDK v1 with one tool for each behaviour, on standard input and output or over HTTP with sessions.
 */
import { randomUUID } from 'node:crypto'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  type CreateTaskRequestHandlerExtra,
  InMemoryTaskMessageQueue,
  InMemoryTaskStore,
} from '@modelcontextprotocol/sdk/experimental/tasks/index.js'
import { McpServer, ResourceTemplate } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StdioServerTransport } from '@modelcontextprotocol/sdk/server/stdio.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import {
  type CallToolResult,
  ElicitResultSchema,
  ListResourcesRequestSchema,
  SubscribeRequestSchema,
  UnsubscribeRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'
import { z } from 'zod'
import { change, changingDescription, onChange, waitForCancel, write } from '../serving/effects.ts'
import { tappedLines } from '../serving/lines.ts'
import { pageFrom } from '../serving/pages.ts'

const said = (text: string): CallToolResult => ({ content: [{ type: 'text' as const, text }] })
const inputSchema = { key: z.string() }
const form = (message: string) => ({
  message,
  requestedSchema: { type: 'object' as const, properties: { name: { type: 'string' as const } } },
})
type Answer = { action: string; content?: Record<string, unknown> | undefined }
const nameOf = ({ action, content }: Answer): string => (action === 'accept' ? String(content?.['name']) : action)

/** Told of changes, one for each connection. */
const notified = new Set<(what: string) => void>()
onChange((what) => {
  for (const tell of notified) tell(what)
})

function tools(): McpServer {
  const capabilities = {
    logging: {},
    resources: { subscribe: true, listChanged: true },
    tasks: { cancel: {}, requests: { tools: { call: {} } } },
  }
  const tasks = { taskStore: new InMemoryTaskStore(), taskMessageQueue: new InMemoryTaskMessageQueue() }
  const server = new McpServer({ name: 'matrix', version: '1.0.0' }, { capabilities, ...tasks })
  offerAsking(server)
  offerTelling(server)
  offerTask(server)
  offerChanging(server)
  return server
}

type Run = (key: string) => Promise<string>

function offerAsking(server: McpServer): void {
  const offer = (name: string, run: Run, annotations = {}): void => {
    server.registerTool(name, { description: name, inputSchema, annotations }, async ({ key }) => {
      write('began', key)
      const text = await run(key)
      write('done', key)
      return said(text)
    })
  }
  const ask = async (message: string): Promise<string> => nameOf(await server.server.elicitInput(form(message)))
  const askTwice: Run = async (key) => `${await ask(`First? ${key}`)} ${await ask(`Second? ${key}`)}`
  offer('plain', async () => 'plain')
  offer('one', (key) => ask(`Name? ${key}`))
  offer('two', askTwice)
  offer('two_again', askTwice, { idempotentHint: true })
  offer('many', async (key) => (await Promise.all(['A?', 'B?', 'C?'].map((text) => ask(`${text} ${key}`)))).join(' '))
  offer('decline', (key) => ask(`Decline? ${key}`))
  offer('cancel', (key) => ask(`Cancel? ${key}`))
  offer('visit', async (key) => {
    const url = `https://example.com/${key}`
    const page = { mode: 'url' as const, message: `Visit? ${key}`, url, elicitationId: randomUUID() }
    return (await server.server.elicitInput(page)).action
  })
  offer('sample', async (key) => {
    const messages = [{ role: 'user' as const, content: { type: 'text' as const, text: `Think. ${key}` } }]
    const { content } = await server.server.createMessage({ messages, maxTokens: 10 })
    return 'text' in content ? String(content.text) : ''
  })
  offer('roots', async () => (await server.server.listRoots()).roots.map(({ uri }) => uri).join(' '))
}

function offerTelling(server: McpServer): void {
  server.registerTool('progress', { description: 'progress', inputSchema }, async ({ key }, extra) => {
    write('began', key)
    const progressToken = extra._meta?.progressToken
    for (const progress of [1, 2, 3])
      if (progressToken !== undefined)
        await extra.sendNotification({
          method: 'notifications/progress',
          params: { progressToken, progress, total: 3 },
        })
    write('done', key)
    return said('reported')
  })
  server.registerTool('log', { description: 'log', inputSchema }, async ({ key }, extra) => {
    write('began', key)
    for (const turn of [1, 2, 3])
      await extra.sendNotification({
        method: 'notifications/message',
        params: { level: 'info', data: `${key} ${turn}` },
      })
    write('done', key)
    return said('logged')
  })
  server.registerTool('cancelled', { description: 'cancelled', inputSchema }, async ({ key }, { signal }) => {
    await waitForCancel(key, signal)
    return said('cancelled')
  })
  const outputSchema = { key: z.string() }
  server.registerTool('structured', { description: 'structured', inputSchema, outputSchema }, ({ key }) => ({
    ...said('structured'),
    structuredContent: { key },
  }))
  server.registerTool('failed', { description: 'failed', inputSchema }, () => {
    throw new Error('It broke.')
  })
}

/** A task that asks twice, in the dialect of 2025-11-25. */
function offerTask(server: McpServer): void {
  const config = { description: 'task', inputSchema, execution: { taskSupport: 'required' } } as const
  const work = async (taskId: string, key: string, { sendRequest, taskStore }: CreateTaskRequestHandlerExtra) => {
    // The SDK's types leave out what its own handlers pass on.
    const related = { relatedTask: { taskId } } as object
    const ask = async (message: string): Promise<string> =>
      nameOf(await sendRequest({ method: 'elicitation/create', params: form(message) }, ElicitResultSchema, related))
    const text = `${await ask(`First? ${key}`)} ${await ask(`Second? ${key}`)}`
    write('done', key)
    await taskStore.storeTaskResult(taskId, 'completed', said(text))
  }
  type Args = { readonly key: string }
  type Extra = CreateTaskRequestHandlerExtra & { readonly taskId: string }
  // With schemas of zod 4 the SDK's types do not find what its handlers are given.
  server.experimental.tasks.registerToolTask('task', config, {
    createTask: async ({ key }: Args, extra: CreateTaskRequestHandlerExtra) => {
      write('began', key)
      // What nobody asks for is forgotten before the matrix looks at what is left.
      const task = await extra.taskStore.createTask({ ttl: 20_000, pollInterval: 50 })
      work(task.taskId, key, extra).catch(() => {})
      return { task }
    },
    getTask: async (_: Args, { taskId, taskStore }: Extra) => (await taskStore.getTask(taskId)) as never,
    getTaskResult: async (_: Args, { taskId, taskStore }: Extra) =>
      (await taskStore.getTaskResult(taskId)) as CallToolResult,
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
  server.server.setRequestHandler(ListResourcesRequestSchema, ({ params }) => {
    const { uris, ...next } = pageFrom(params?.cursor)
    return { resources: uris.map((uri) => ({ uri, name: uri })), ...next }
  })
  const changing = server.registerTool('changing', { description: changingDescription(), inputSchema }, () => said(''))
  const watched = new Set<string>()
  server.server.setRequestHandler(SubscribeRequestSchema, ({ params }) => {
    watched.add(params.uri)
    return {}
  })
  server.server.setRequestHandler(UnsubscribeRequestSchema, ({ params }) => {
    watched.delete(params.uri)
    return {}
  })
  const tell = (what: string): void => {
    if (what === 'list') changing.update({ description: changingDescription() })
    else if (watched.has(what)) server.server.sendResourceUpdated({ uri: what }).catch(() => {})
  }
  notified.add(tell)
  server.server.onclose = () => void notified.delete(tell)
}

const sessions = new Map<string, StreamableHTTPServerTransport>()

if (process.argv.includes('--http')) {
  const host = createServer((req, res) => {
    const id = req.headers['mcp-session-id']
    const known = sessions.get(String(id))
    if (known !== undefined) return void known.handleRequest(req, res)
    if (id !== undefined) return void res.writeHead(404).end()
    const transport = new StreamableHTTPServerTransport({
      sessionIdGenerator: randomUUID,
      onsessioninitialized: (given) => void sessions.set(given, transport),
      onsessionclosed: (given) => void sessions.delete(given),
    })
    void tools()
      .connect(transport as Transport)
      .then(() => transport.handleRequest(req, res))
  })
  const port = Number(process.env['PORT'] ?? 0)
  host.listen(port, '127.0.0.1', () => console.log((host.address() as AddressInfo).port))
} else {
  const { input, output } = tappedLines()
  await tools().connect(new StdioServerTransport(input, output))
}
