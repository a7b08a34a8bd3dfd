/** One call of a tool by each of the official clients, and what became of it. */
import { execFile } from 'node:child_process'
import { dirname, join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { Client as ClientV2, StreamableHTTPClientTransport as HttpV2 } from '@modelcontextprotocol/client'
import { Client as ClientV1 } from '@modelcontextprotocol/sdk/client/index.js'
import { SSEClientTransport } from '@modelcontextprotocol/sdk/client/sse.js'
import { StdioClientTransport } from '@modelcontextprotocol/sdk/client/stdio.js'
import { StreamableHTTPClientTransport as HttpV1 } from '@modelcontextprotocol/sdk/client/streamableHttp.js'
import { CallToolResultSchema } from '@modelcontextprotocol/sdk/types.js'
import type { Server } from '../serverProcess.ts'

/** `error`: the tool says that it failed. `refused`: a JSON-RPC error. `none`: no answer at all. */
export interface CallOutcome {
  readonly kind: 'answer' | 'error' | 'refused' | 'none'
  readonly text: string
}

export interface ToolCall {
  readonly name: string
  readonly arguments: Readonly<Record<string, unknown>>
}

const me = { name: 'gateway-servers', version: '1.0.0' }
const CALL_MS = 60_000
const MAX_TEXT = 300

/** A client in a session, of the SDK v1. */
export async function connectV1(url: string): Promise<ClientV1> {
  const client = new ClientV1(me)
  await client.connect(new HttpV1(new URL(url)))
  return client
}

/** A client without one, of the SDK v2. */
export async function connectV2(url: string): Promise<ClientV2> {
  const client = new ClientV2(me, { versionNegotiation: { mode: 'auto' } })
  await client.connect(new HttpV2(new URL(url)))
  return client
}

export function callV1(client: ClientV1, call: ToolCall): Promise<CallOutcome> {
  const given = { name: call.name, arguments: { ...call.arguments } }
  return outcomeOf(client.request({ method: 'tools/call', params: given }, CallToolResultSchema, { timeout: CALL_MS }))
}

export function callV2(client: ClientV2, call: ToolCall): Promise<CallOutcome> {
  return outcomeOf(client.callTool({ name: call.name, arguments: { ...call.arguments } }, { timeout: CALL_MS }))
}

/** The same call without a gateway, by each SDK. */
export async function callDirectly(
  server: Server,
  call: ToolCall,
): Promise<Readonly<Record<'v1' | 'v2', CallOutcome>>> {
  const [first, second] = [new ClientV1(me), new ClientV2(me)]
  return {
    v1: await whileOpen(
      first,
      () => first.connect(transportTo(server), { timeout: CALL_MS }),
      () => callV1(first, call),
    ),
    v2: await whileOpen(
      second,
      () => second.connect(transportTo(server), { timeout: CALL_MS }),
      () => callV2(second, call),
    ),
  }
}

async function whileOpen(
  client: { close(): Promise<void> },
  connect: () => Promise<void>,
  use: () => Promise<CallOutcome>,
): Promise<CallOutcome> {
  try {
    await connect()
    return await use()
  } catch (error) {
    return { kind: 'none', text: short(error instanceof Error ? error.message : '') }
  } finally {
    await client.close().catch(() => {})
  }
}

function transportTo(server: Server) {
  if ('program' in server) {
    const { command, args, env, cwd } = server.program
    return new StdioClientTransport({ command, args: [...args], env: { ...env }, cwd, stderr: 'ignore' })
  }
  const url = new URL(server.url)
  const requestInit = { headers: { ...server.headers } }
  return url.pathname.endsWith('/sse') ? new SSEClientTransport(url, { requestInit }) : new HttpV1(url, { requestInit })
}

const manifest = fileURLToPath(import.meta.resolve('@modelcontextprotocol/inspector/package.json'))
const INSPECTOR = join(dirname(manifest), 'cli/build/cli.js')

/** The Inspector's command line. */
export async function callInspector(url: string, { name, arguments: args }: ToolCall): Promise<CallOutcome> {
  const pairs = Object.entries(args).flatMap(([key, value]) => ['--tool-arg', `${key}=${valueText(value)}`])
  const given = ['--cli', url, '--transport', 'http', '--method', 'tools/call', '--tool-name', name, ...pairs]
  const { stdout, stderr } = await run(process.execPath, [INSPECTOR, ...given])
  if (stdout.trim() !== '') return outcomeOf(Promise.resolve().then(() => JSON.parse(stdout) as object))
  return { kind: stderr.includes('MCP error') ? 'refused' : 'none', text: short(stderr) }
}

function valueText(value: unknown): string {
  return typeof value === 'string' ? value : JSON.stringify(value)
}

function run(command: string, args: readonly string[]): Promise<{ stdout: string; stderr: string }> {
  return new Promise((resolve) => {
    execFile(command, args, { timeout: CALL_MS, maxBuffer: 32_000_000 }, (_, stdout, stderr) =>
      resolve({ stdout, stderr }),
    )
  })
}

async function outcomeOf(result: Promise<object>): Promise<CallOutcome> {
  try {
    const { content, isError } = (await result) as { content?: { text?: string }[]; isError?: boolean }
    const text = short((content ?? []).map((each) => each.text ?? '').join(' '))
    return { kind: isError === true ? 'error' : 'answer', text }
  } catch (error) {
    const { code, message } = error as { code?: unknown; message?: string }
    return { kind: typeof code === 'number' ? 'refused' : 'none', text: short(message ?? '') }
  }
}

function short(text: string): string {
  return text.replaceAll(/\s+/g, ' ').trim().slice(0, MAX_TEXT)
}
