/** Sends requests in one session, with the client of the official SDK. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { McpError, ResultSchema } from '@modelcontextprotocol/sdk/types.js'
import type { CorpusRequest } from './configuration.ts'
import type { Server } from './serverProcess.ts'

/** The result of a request, or the message of its error. */
export type Reply = { readonly result: unknown } | { readonly error: string }

/** Returns the reply to the last request. */
export async function askInSession(server: Server, requests: readonly CorpusRequest[]): Promise<Reply> {
  const client = new Client({ name: 'corpus', version: '1.0.0' }, { capabilities: {} })
  await client.connect(transportTo(server))
  try {
    let reply: Reply = { error: 'no request' }
    for (const { method, params = {} } of requests) reply = await send(client, method, params)
    return reply
  } finally {
    await client.close()
  }
}

async function send(client: Client, method: string, params: Readonly<Record<string, unknown>>): Promise<Reply> {
  try {
    return { result: await client.request({ method, params }, ResultSchema) }
  } catch (error) {
    if (!(error instanceof McpError)) throw error
    return { error: plainError(error.message) }
  }
}

/** The message without the prefix that the SDK adds to errors, on the server and on the client. */
export function plainError(message: string): string {
  return message.replace(/^(MCP error -?\d+: )+/, '')
}

function transportTo(server: Server): Transport {
  if ('program' in server) {
    const { command, args, env, cwd } = server.program
    return new StdioClientTransport({ command, args: [...args], env, cwd, stderr: 'ignore' })
  }
  const requestInit = { headers: server.headers }
  const url = new URL(server.url)
  if (url.pathname === '/sse') return new SSEClientTransport(url, { requestInit })
  return new StreamableHTTPClientTransport(url, { requestInit })
}
