/** Requests one after the other in one session, by the client of the official SDK; or to one process, in the newer era. */
import { Client } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import type { Transport } from '@modelcontextprotocol/sdk/shared/transport.js'
import { McpError, ResultSchema } from '@modelcontextprotocol/sdk/types.js'
import type { Asked } from './configuration.ts'
import type { Server } from './serverProcess.ts'

/** What an answer says, be it a result or an error. */
export type Said = { readonly result: unknown } | { readonly error: string }

/** The answer to the last of them. */
export async function askTogether(server: Server, requests: readonly Asked[]): Promise<Said> {
  const client = new Client({ name: 'corpus', version: '1.0.0' }, { capabilities: {} })
  await client.connect(transportTo(server))
  try {
    let said: Said = { error: 'nothing was asked' }
    for (const { method, params = {} } of requests) said = await asked(client, method, params)
    return said
  } finally {
    await client.close()
  }
}

async function asked(client: Client, method: string, params: Readonly<Record<string, unknown>>): Promise<Said> {
  try {
    return { result: await client.request({ method, params }, ResultSchema) }
  } catch (error) {
    if (!(error instanceof McpError)) throw error
    return { error: plainError(error.message) }
  }
}

/** The SDK puts this before the words of an error, at either end. */
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
