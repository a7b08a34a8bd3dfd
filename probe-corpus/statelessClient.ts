/** Sends requests without a session and without `initialize`. A program gets all of them in one process. */
import { createInterface } from 'node:readline'
import { endGroup, startGroup } from 'pannier/client'
import type { CorpusRequest } from './configuration.ts'
import type { Program, Server, HttpServer } from './serverProcess.ts'
import { plainError, type Reply } from './sessionClient.ts'

const VERSION = '2026-07-28'
const LIMIT_MS = 30_000

export type Era = 'older' | 'modern'

/** Returns the reply to the last request. */
export async function askWithoutSession(server: Server, requests: readonly CorpusRequest[], era: Era): Promise<Reply> {
  const messages = requests.map((asked, index) => messageOf(asked, index + 1, era))
  if ('program' in server) return askProgram(server.program, messages)
  let reply: Reply = { error: 'no request' }
  for (const message of messages) reply = await askUrl(server, message, era)
  return reply
}

interface Message {
  readonly id: number
  readonly method: string
  readonly params: Readonly<Record<string, unknown>>
}

function messageOf({ method, params = {} }: CorpusRequest, id: number, era: Era): Message {
  const envelope = {
    'io.modelcontextprotocol/protocolVersion': VERSION,
    'io.modelcontextprotocol/clientInfo': { name: 'corpus', version: '1.0.0' },
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  return { id, method, params: era === 'modern' ? { ...params, _meta: envelope } : params }
}

async function askUrl({ url, headers }: HttpServer, message: Message, era: Era): Promise<Reply> {
  const { method, params } = message
  const name = typeof params['name'] === 'string' ? params['name'] : ''
  const routing = { 'mcp-protocol-version': VERSION, 'mcp-method': method, 'mcp-name': name }
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      ...headers,
      ...(era === 'modern' && routing),
    },
    body: JSON.stringify({ jsonrpc: '2.0', ...message }),
    signal: AbortSignal.timeout(LIMIT_MS),
  })
  const lines = (await response.text()).split('\n').map((line) => line.replace(/^data:/, ''))
  return replyIn(lines) ?? { error: `HTTP ${response.status}` }
}

async function askProgram({ command, args, env, cwd }: Program, messages: readonly Message[]): Promise<Reply> {
  const child = startGroup(command, args, { env, cwd, stdio: ['pipe', 'pipe', 'ignore'] })
  const timer = setTimeout(() => child.kill(), LIMIT_MS)
  const waiting = [...messages]
  const send = (): void => void child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...waiting.shift() })}\n`)
  try {
    send()
    for await (const line of child.stdout === null ? [] : createInterface(child.stdout)) {
      const reply = replyIn([line])
      if (reply !== undefined && waiting.length === 0) return reply
      if (reply !== undefined) send()
    }
    return { error: 'no reply' }
  } finally {
    clearTimeout(timer)
    await endGroup(child, 300)
  }
}

/** The first of these lines that is a reply. */
function replyIn(lines: readonly string[]): Reply | undefined {
  for (const line of lines) {
    const { result, error } = parsed(line)
    if (result !== undefined) return { result }
    if (error !== undefined) return { error: plainError(error.message ?? '') }
  }
  return undefined
}

function parsed(line: string): { result?: unknown; error?: { message?: string } } {
  try {
    const value: unknown = JSON.parse(line)
    return typeof value === 'object' && value !== null ? value : {}
  } catch {
    return {}
  }
}
