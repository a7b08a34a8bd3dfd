/** Raw requests of the stateless revision: what goes over the wire is written out, so that a test can bend any part. */
import { request as httpRequest } from 'node:http'

export const VERSION = '2026-07-28'

export interface Sent {
  method?: string
  params?: Record<string, unknown>
  id?: unknown
  capabilities?: Record<string, unknown>
  meta?: Record<string, unknown>
  headers?: Record<string, string | undefined>
  /** Sent instead of the message. */
  body?: string | Uint8Array
  signal?: AbortSignal
}

// oxlint-disable-next-line typescript/no-explicit-any -- a test looks into a message as far as it likes
export type Wire = any

export interface Received {
  status: number
  type: string
  /** The messages of the answer, one or a stream of them. */
  messages: Wire[]
  /** The last message. */
  message: Wire
  headers: Headers
}

export function envelope(
  capabilities: Record<string, unknown> = { elicitation: {} },
  meta: Record<string, unknown> = {},
) {
  return {
    'io.modelcontextprotocol/protocolVersion': VERSION,
    'io.modelcontextprotocol/clientInfo': { name: 'wire-test', version: '1.0.0' },
    'io.modelcontextprotocol/clientCapabilities': capabilities,
    ...meta,
  }
}

let nextId = 1

export async function post(url: string, sent: Sent): Promise<Received> {
  const response = await open(url, sent)
  const text = await response.text()
  const type = response.headers.get('content-type') ?? ''
  const messages = type.startsWith('text/event-stream') ? eventsOf(text) : text === '' ? [] : [JSON.parse(text)]
  return { status: response.status, type, messages, message: messages.at(-1), headers: response.headers }
}

/** The response before its body is read, for tests that watch the stream. */
export function open(url: string, sent: Sent): Promise<Response> {
  const { method = 'tools/call', params = {}, capabilities, meta, signal } = sent
  const name = params['name'] ?? params['uri'] ?? params['taskId']
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': VERSION,
    'mcp-method': method,
    ...(typeof name === 'string' && { 'mcp-name': name }),
    ...sent.headers,
  }
  const id = 'id' in sent ? sent.id : nextId++
  const message = { jsonrpc: '2.0', id, method, params: { ...params, _meta: envelope(capabilities, meta) } }
  return fetch(url, {
    method: 'POST',
    headers: Object.fromEntries(
      Object.entries(headers).filter((pair): pair is [string, string] => pair[1] !== undefined),
    ),
    body: (sent.body ?? JSON.stringify(message)) as BodyInit,
    ...(signal !== undefined && { signal }),
  })
}

export function call(
  url: string,
  name: string,
  args: Record<string, unknown> = {},
  sent: Sent = {},
): Promise<Received> {
  return post(url, { ...sent, params: { name, arguments: args, ...sent.params } })
}

export function eventsOf(text: string): Wire[] {
  return text
    .split('\n\n')
    .flatMap((event) => event.split('\n').filter((line) => line.startsWith('data: ')))
    .map((line) => JSON.parse(line.slice('data: '.length)))
}

/** One request with headers as they are, which `fetch` would not send (Host, Origin, duplicates). */
export function raw(
  url: string,
  headers: Record<string, string | string[]>,
  body: string,
): Promise<{ status: number; text: string }> {
  return new Promise((resolve, reject) => {
    const request = httpRequest(url, { method: 'POST', headers }, (response) => {
      let text = ''
      response.on('data', (chunk: Buffer) => (text += chunk.toString()))
      response.on('end', () => resolve({ status: response.statusCode ?? 0, text }))
    })
    request.on('error', reject)
    request.end(body)
  })
}
