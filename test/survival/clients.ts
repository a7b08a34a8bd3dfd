/** The official SDKs' clients in the session era, with nothing of ours around them, unless a `fetch` is given. */
import {
  Client as ClientV2,
  type FetchLike,
  StreamableHTTPClientTransport as TransportV2,
} from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as TransportV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'

export interface CallOptions {
  readonly signal?: AbortSignal
  readonly onprogress?: () => void
  readonly timeout: number
}

export interface Caller {
  call(name: string, args: Record<string, unknown>, options: CallOptions): Promise<unknown>
  /** What the client could not do, such as sending an answer, and how it came back to its streams. */
  readonly reports: readonly string[]
  close(): Promise<void>
}

const me = { name: 'survivor', version: '1' }
const capabilities = { elicitation: {}, sampling: {}, roots: {} }
const named = { action: 'accept' as const, content: { name: 'Ann' } }
const roots = { roots: [{ uri: 'file:///home' }] }
const written = { role: 'assistant' as const, model: 'm', content: { type: 'text' as const, text: 'words' } }
// A client that lost its stream comes back at once and often, so that what is slow is the server.
const reconnectionOptions = {
  initialReconnectionDelay: 10,
  maxReconnectionDelay: 200,
  reconnectionDelayGrowFactor: 1.5,
  maxRetries: 20,
}

/** Notes each GET: after which event, and the status of the reply. */
function reporting(fetch: FetchLike, reports: string[]): FetchLike {
  return async (url, init) => {
    const response = await fetch(url, init)
    if (init?.method === 'GET') {
      const after = new Headers(init.headers).get('last-event-id')?.split(':')[1]
      reports.push(`GET ${after === undefined ? 'anew' : `after ${after}`}: ${response.status}`)
    }
    return response
  }
}

export const kinds: Readonly<Record<'v1' | 'v2', (url: string, fetch?: FetchLike) => Promise<Caller>>> = {
  v1: async (url, fetch = globalThis.fetch) => {
    const client = new ClientV1(me, { capabilities })
    const reports: string[] = []
    client.onerror = ({ message }) => reports.push(message)
    client.setRequestHandler(ElicitRequestSchema, () => named)
    client.setRequestHandler(CreateMessageRequestSchema, () => written)
    client.setRequestHandler(ListRootsRequestSchema, () => roots)
    await client.connect(new TransportV1(new URL(url), { reconnectionOptions, fetch: reporting(fetch, reports) }))
    return {
      reports,
      call: (name, args, options) => client.callTool({ name, arguments: args }, undefined, options),
      close: () => client.close(),
    }
  },
  v2: async (url, fetch = globalThis.fetch) => {
    const client = new ClientV2(me, { capabilities, versionNegotiation: { mode: 'legacy' } })
    const reports: string[] = []
    client.onerror = ({ message }) => reports.push(message)
    client.setRequestHandler('elicitation/create', () => named)
    client.setRequestHandler('sampling/createMessage', () => written)
    client.setRequestHandler('roots/list', () => roots)
    await client.connect(new TransportV2(new URL(url), { reconnectionOptions, fetch: reporting(fetch, reports) }))
    return {
      reports,
      call: (name, args, options) => client.callTool({ name, arguments: args }, options),
      close: () => client.close(),
    }
  },
}
