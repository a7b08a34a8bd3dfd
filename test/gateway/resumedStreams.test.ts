/** Calls of session-era servers whose connections break in the middle: they go on where the server remembers its events. */
import { randomUUID } from 'node:crypto'
import { createServer as createHost, type RequestListener } from 'node:http'
import type { Socket } from 'node:net'
import { InMemoryEventStore } from '@modelcontextprotocol/sdk/examples/shared/inMemoryEventStore.js'
import { McpServer } from '@modelcontextprotocol/sdk/server/mcp.js'
import { StreamableHTTPServerTransport } from '@modelcontextprotocol/sdk/server/streamableHttp.js'
import { createServer } from 'pannier/server'
import { expect, onTestFinished, test, vi } from 'vitest'
import { z } from 'zod'
import { hostUntil } from '../fixtures/until.ts'
import { KEYS, quiet } from '../interop/fixtures/instances.ts'
import { call, connectClient, startGateway } from './fixtures/gateways.ts'

const PATIENCE = { timeout: 15_000 }

/** What the tool "slow" of a server has begun, and the way to let it end. */
class Slow {
  readonly began: string[] = []
  readonly #gate = Promise.withResolvers<void>()

  async run(): Promise<string> {
    this.began.push('slow')
    await this.#gate.promise
    return 'went on'
  }

  end(): void {
    this.#gate.resolve()
  }
}

/** Before, nobody knows whether the gateway has had an event of the stream to go on from. */
const ABOUT = 'Is slow, after an answer has shown that its stream is open.'

type Serving = (slow: Slow) => RequestListener

const servers: Readonly<Record<string, Serving>> = {
  'the SDK v1 with an event store': (slow) => {
    const sessions = new Map<string, StreamableHTTPServerTransport>()
    const eventStore = new InMemoryEventStore()
    const begin = async (): Promise<StreamableHTTPServerTransport> => {
      const server = new McpServer({ name: 'sdk', version: '1' })
      server.registerTool('slow', { description: ABOUT }, async ({ requestId }) => {
        const requestedSchema = { type: 'object' as const, properties: {} }
        await server.server.elicitInput({ message: 'Sure?', requestedSchema }, { relatedRequestId: requestId })
        return { content: [{ type: 'text', text: await slow.run() }] }
      })
      const transport = new StreamableHTTPServerTransport({
        sessionIdGenerator: randomUUID,
        eventStore,
        retryInterval: 100,
        onsessioninitialized: (id) => void sessions.set(id, transport),
      })
      await server.connect(transport)
      return transport
    }
    return (req, res) => {
      const known = sessions.get(String(req.headers['mcp-session-id']))
      void (known === undefined ? begin() : Promise.resolve(known)).then((each) => each.handleRequest(req, res))
    }
  },
  'Pannier in the session era': (slow) => {
    const server = createServer({ name: 'ours', version: '1', keys: KEYS, logger: quiet, architecture: 'stateful' })
    server.tool('slow', { description: ABOUT }, async (_, ctx) => {
      await ctx.ask('first', { message: 'Sure?', schema: z.object({ sure: z.boolean() }) })
      return slow.run()
    })
    return server.nodeHandler()
  },
}

test.each(Object.entries(servers))(
  'with %s a call goes on when all connections are cut, and runs once',
  async (_, serve) => {
    const slow = new Slow()
    const sockets = new Set<Socket>()
    const host = await hostUntil(createHost(serve(slow)).on('connection', (socket) => sockets.add(socket)))
    onTestFinished(() => slow.end())
    const { url } = await startGateway({ a: { url: host.url, pannier: { state: 'stateful' } } })
    const client = await connectClient('v2', url)
    const result = call(client, 'a_slow')
    for (const cuts of [1, 2]) {
      await vi.waitFor(() => expect(slow.began).toHaveLength(1), PATIENCE)
      for (const socket of sockets) socket.destroy()
      const before = sockets.size
      await vi.waitFor(() => expect(sockets.size, `after ${cuts} cuts`).toBeGreaterThan(before), PATIENCE)
    }
    slow.end()
    expect(await result).toBe('went on')
    expect(slow.began).toEqual(['slow'])
  },
)
