/** Clients of an SDK host: the official one, and plain messages for what no honest client sends. */
import {
  Client,
  type ClientCapabilities,
  type ElicitResult,
  StreamableHTTPClientTransport,
} from '@modelcontextprotocol/client'
import type { SdkHost } from './host.ts'

export interface Person {
  readonly capabilities?: ClientCapabilities
  /** What this person does with each message; the default accepts nothing. */
  readonly answer?: (message: string) => ElicitResult | Promise<ElicitResult>
}

/** Connects the official client; each of its requests goes to the next of these hosts. */
export async function connect(era: 'modern' | 'legacy', hosts: readonly SdkHost[], person: Person = {}) {
  const { capabilities = { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} }, answer } = person
  const client = new Client(
    { name: 'sdk-test', version: '1' },
    { capabilities, ...(era === 'modern' && { versionNegotiation: { mode: 'auto' as const } }) },
  )
  if (capabilities.elicitation) {
    client.setRequestHandler(
      'elicitation/create',
      async ({ params }) => (await answer?.(params.message)) ?? { action: 'decline' },
    )
  }
  if (capabilities.sampling) {
    client.setRequestHandler('sampling/createMessage', async () => ({
      role: 'assistant',
      model: 'm',
      content: { type: 'text', text: 'Hi.' },
    }))
  }
  if (capabilities.roots) client.setRequestHandler('roots/list', async () => ({ roots: [{ uri: 'file:///here' }] }))
  const urls = hosts.map((host) => host[era])
  let next = 0
  // No standalone stream: what a server asks must come on the stream of the request it belongs to.
  const fetchNext: typeof fetch = async (_, init) =>
    init?.method === 'GET' ? new Response(null, { status: 405 }) : fetch(urls[next++ % urls.length] as URL, init)
  await client.connect(new StreamableHTTPClientTransport(urls[0] as URL, { fetch: fetchNext }))
  return client
}

const META = {
  'io.modelcontextprotocol/protocolVersion': '2026-07-28',
  'io.modelcontextprotocol/clientInfo': { name: 'raw', version: '1' },
  'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {}, url: {} }, sampling: {}, roots: {} },
}

export interface Round {
  readonly name: string
  readonly arguments?: Record<string, unknown>
  readonly inputResponses?: Record<string, unknown>
  readonly requestState?: string
}

export interface Answer {
  readonly result?: {
    readonly resultType: string
    readonly requestState?: string
    readonly inputRequests?: Record<string, { readonly params: { readonly message: string } }>
    readonly content?: readonly { readonly text: string }[]
    readonly isError?: boolean
  }
  readonly error?: { readonly code: number; readonly message: string; readonly data?: unknown }
}

/** One `tools/call` of 2026-07-28, exactly as given. */
export async function send(host: SdkHost, round: Round, as?: string): Promise<Answer> {
  const response = await fetch(host.modern, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': round.name,
      ...(as !== undefined && { authorization: `Bearer ${as}` }),
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method: 'tools/call', params: { ...round, _meta: META } }),
  })
  return (await response.json()) as Answer
}

/** Changes one character in the middle. */
export function tampered(token: string): string {
  const at = token.length >> 1
  return token.slice(0, at) + (token[at] === 'A' ? 'B' : 'A') + token.slice(at + 1)
}
