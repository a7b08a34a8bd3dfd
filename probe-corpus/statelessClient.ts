/** Requests one after the other without a session and without `initialize`; to a program, all to one process. */
import { createInterface } from 'node:readline'
import { endGroup, startGroup } from 'pannier/client'
import type { Asked } from './configuration.ts'
import type { Program, Server, Site } from './serverProcess.ts'
import { plainError, type Said } from './sessionClient.ts'

const VERSION = '2026-07-28'
const LIMIT_MS = 30_000

export type Era = 'older' | 'modern'

/** The answer to the last of them. */
export async function askBare(server: Server, requests: readonly Asked[], era: Era): Promise<Said> {
  const messages = requests.map((asked, index) => messageOf(asked, index + 1, era))
  if ('program' in server) return askProgram(server.program, messages)
  let said: Said = { error: 'nothing was asked' }
  for (const message of messages) said = await askUrl(server, message, era)
  return said
}

interface Message {
  readonly id: number
  readonly method: string
  readonly params: Readonly<Record<string, unknown>>
}

function messageOf({ method, params = {} }: Asked, id: number, era: Era): Message {
  const envelope = {
    'io.modelcontextprotocol/protocolVersion': VERSION,
    'io.modelcontextprotocol/clientInfo': { name: 'corpus', version: '1.0.0' },
    'io.modelcontextprotocol/clientCapabilities': {},
  }
  return { id, method, params: era === 'modern' ? { ...params, _meta: envelope } : params }
}

async function askUrl({ url, headers }: Site, message: Message, era: Era): Promise<Said> {
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
  return answerIn(lines) ?? { error: `HTTP ${response.status}` }
}

async function askProgram({ command, args, env, cwd }: Program, messages: readonly Message[]): Promise<Said> {
  const child = startGroup(command, args, { env, cwd, stdio: ['pipe', 'pipe', 'ignore'] })
  const timer = setTimeout(() => child.kill(), LIMIT_MS)
  const waiting = [...messages]
  const send = (): void => void child.stdin?.write(`${JSON.stringify({ jsonrpc: '2.0', ...waiting.shift() })}\n`)
  try {
    send()
    for await (const line of child.stdout === null ? [] : createInterface(child.stdout)) {
      const said = answerIn([line])
      if (said !== undefined && waiting.length === 0) return said
      if (said !== undefined) send()
    }
    return { error: 'no answer' }
  } finally {
    clearTimeout(timer)
    await endGroup(child, 300)
  }
}

/** The first of these lines that is an answer. */
function answerIn(lines: readonly string[]): Said | undefined {
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
