/** Official clients of both eras, each of which answers with its own name. */
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import {
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
} from '@modelcontextprotocol/sdk/types.js'

export const CLIENTS = ['v1', 'v2 in a session', 'v2 stateless'] as const

export type ClientKind = (typeof CLIENTS)[number]

export interface CallOptions {
  readonly signal: AbortSignal
  readonly onprogress: () => void
  readonly timeout: number
}

export interface ToolResult {
  readonly content: readonly { readonly text?: string }[]
  readonly structuredContent?: unknown
  readonly isError?: boolean
}

export interface MatrixClient {
  call(name: string, args: Record<string, unknown>, options: CallOptions): Promise<ToolResult>
  close(): Promise<void>
}

const capabilities = { elicitation: {}, sampling: {}, roots: {} }
const reconnectionOptions = {
  initialReconnectionDelay: 20,
  maxReconnectionDelay: 300,
  reconnectionDelayGrowFactor: 1.5,
  maxRetries: 20,
}

function elicited(message: string, name: string) {
  if (message === 'Decline?') return { action: 'decline' as const }
  if (message === 'Cancel?') return { action: 'cancel' as const }
  return { action: 'accept' as const, content: { name } }
}

export async function connect(kind: ClientKind, url: string, name: string): Promise<MatrixClient> {
  const me = { name: kind, version: '1' }
  const sampled = { role: 'assistant' as const, model: 'm', content: { type: 'text' as const, text: name } }
  const roots = { roots: [{ uri: `file:///${name}` }] }
  const close = (client: { close(): Promise<void> }) => () => client.close().catch(() => {})
  if (kind === 'v1') {
    const client = new ClientV1(me, { capabilities })
    client.setRequestHandler(ElicitRequestSchema, ({ params }) => elicited(params.message, name))
    client.setRequestHandler(CreateMessageRequestSchema, () => sampled)
    client.setRequestHandler(ListRootsRequestSchema, () => roots)
    await client.connect(new HttpV1(new URL(url), { reconnectionOptions }))
    const call: MatrixClient['call'] = async (tool, args, options) =>
      (await client.callTool({ name: tool, arguments: args }, undefined, options)) as unknown as ToolResult
    return { call, close: close(client) }
  }
  const mode = kind === 'v2 stateless' ? 'auto' : 'legacy'
  const client = new ClientV2(me, { capabilities, versionNegotiation: { mode } })
  client.setRequestHandler('elicitation/create', ({ params }) => elicited(params.message, name))
  client.setRequestHandler('sampling/createMessage', () => sampled)
  client.setRequestHandler('roots/list', () => roots)
  await client.connect(new HttpV2(new URL(url), { reconnectionOptions }))
  const call: MatrixClient['call'] = async (tool, args, options) =>
    (await client.callTool({ name: tool, arguments: args }, options)) as unknown as ToolResult
  return { call, close: close(client) }
}
