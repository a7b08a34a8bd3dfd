/** The official SDK v1, which knows sessions alone, with its tasks of 2025-11-25. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import {
  CallToolResultSchema,
  CreateMessageRequestSchema,
  ElicitRequestSchema,
  ListRootsRequestSchema,
  LoggingMessageNotificationSchema,
  ResourceUpdatedNotificationSchema,
  ToolListChangedNotificationSchema,
} from '@modelcontextprotocol/sdk/types.js'
import {
  allPages,
  answersOf,
  CAPABILITIES,
  type Connecting,
  headersOf,
  type MatrixClient,
  RECONNECTION,
  type ToolResult,
} from './client.ts'

export async function connectSdkV1(connecting: Connecting): Promise<MatrixClient> {
  const { url, heard, timeout } = connecting
  const client = new Client({ name: 'v1', version: '1' }, { capabilities: { ...CAPABILITIES, tasks: {} } })
  const answers = answersOf(connecting)
  client.setRequestHandler(ElicitRequestSchema, ({ params }) => answers.elicit(params))
  client.setRequestHandler(CreateMessageRequestSchema, ({ params }) => answers.sample(params))
  client.setRequestHandler(ListRootsRequestSchema, answers.roots)
  client.setNotificationHandler(LoggingMessageNotificationSchema, ({ params }) => {
    heard.logs.push(String(params.data))
  })
  client.setNotificationHandler(ResourceUpdatedNotificationSchema, ({ params }) => {
    heard.updated.push(params.uri)
  })
  client.setNotificationHandler(ToolListChangedNotificationSchema, () => {
    heard.lists++
  })
  const requestInit = { headers: headersOf(connecting) }
  const transport =
    connecting.transport?.() ??
    (connecting.isSse
      ? new SSEClientTransport(new URL(url), { requestInit })
      : new StreamableHTTPClientTransport(new URL(url), { requestInit, reconnectionOptions: RECONNECTION }))
  await client.connect(transport as Transport, timeout === undefined ? {} : { timeout })
  const onprogress = (): void => void heard.progress++
  return {
    call: async (tool, args, options) =>
      (await client.callTool({ name: tool, arguments: args }, undefined, {
        ...options,
        onprogress,
      })) as unknown as ToolResult,
    task: async (tool, args, options) => {
      await client.listTools() // by the list it knows what runs as a task
      const params = { name: tool, arguments: args }
      const task = { ttl: 60_000 }
      for await (const message of client.experimental.tasks.callToolStream(params, CallToolResultSchema, {
        ...options,
        task,
      })) {
        if (message.type === 'error') throw message.error
        if (message.type === 'result') return message.result as unknown as ToolResult
      }
      throw new Error('The task ended without a result.')
    },
    hearLogs: () => client.setLoggingLevel('info'),
    listen: async (uri) => uri !== undefined && client.subscribeResource({ uri }),
    resources: () => allPages(async (cursor) => (await client.listResources({ cursor })) as never),
    close: async () => {
      if (connecting.endsSession && 'terminateSession' in transport) await transport.terminateSession().catch(() => {})
      await client.close().catch(() => {})
    },
  }
}
