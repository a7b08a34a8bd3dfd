/** The load of the benchmark that `mcp-use` publishes: one `tools/list` for nine `tools/call`, over kept connections. */
import { post } from './exchange.ts'
import { openHttpLoad } from './httpLoad.ts'
import type { Session } from './load.ts'
import { ENVELOPE, echoText, MCP_PATH, PROTOCOL_VERSION, SESSION_VERSION } from './messages.ts'
import type { RawResponse } from './responseReader.ts'
import { type Script, WrongResponse } from './script.ts'

export type Dialect = 'stateless' | 'session'

const CYCLE = 10
/** Requests of each connection, built before the measurement. */
const PREPARED = 100

/** In the session era each connection has a session of its own. */
export async function openMixLoad(port: number, dialect: Dialect, connections: number): Promise<Session> {
  const sessions = await Promise.all(
    Array.from({ length: connections }, async () => (dialect === 'session' ? openSession(port) : undefined)),
  )
  return openHttpLoad({ port, connections, script: (index) => new MixScript(port, sessions[index]) })
}

class MixScript implements Script {
  readonly #requests: readonly Buffer[]
  #at = 0

  constructor(port: number, session: string | undefined) {
    this.#requests = Array.from({ length: PREPARED }, (_, id) => Buffer.from(requestOf(port, id, session)))
  }

  next(): Buffer {
    return this.#requests[this.#at] as Buffer
  }

  take(response: RawResponse): boolean {
    const expected = isList(this.#at) ? '"tools":[' : `"text":${JSON.stringify(echoText(this.#at))}`
    const isRight =
      response.status === 200 && response.body.includes(expected) && response.body.includes(`"id":${this.#at}`)
    if (!isRight) throw new WrongResponse(`the answer of request ${this.#at}`, response)
    this.reset()
    return true
  }

  reset(): void {
    this.#at = (this.#at + 1) % PREPARED
  }
}

function isList(id: number): boolean {
  return id % CYCLE === 0
}

function requestOf(port: number, id: number, session: string | undefined): string {
  const method = isList(id) ? 'tools/list' : 'tools/call'
  const params = isList(id) ? {} : { name: 'echo', arguments: { text: echoText(id) } }
  const enveloped = session === undefined ? { ...params, _meta: ENVELOPE } : params
  const body = JSON.stringify({ jsonrpc: '2.0', id, method, params: enveloped })
  const own = session === undefined ? statelessHeaders(method) : sessionHeaders(session)
  const headers = { Host: `127.0.0.1:${port}`, ...FORMATS, ...own, 'Content-Length': Buffer.byteLength(body) }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `POST ${MCP_PATH} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}

const FORMATS = { 'Content-Type': 'application/json', Accept: 'application/json, text/event-stream' }

function statelessHeaders(method: string): Record<string, string> {
  const named = method === 'tools/call' && { 'Mcp-Name': 'echo' }
  return { 'MCP-Protocol-Version': PROTOCOL_VERSION, 'Mcp-Method': method, ...named }
}

function sessionHeaders(session: string): Record<string, string> {
  return { 'MCP-Protocol-Version': SESSION_VERSION, 'Mcp-Session-Id': session }
}

async function openSession(port: number): Promise<string> {
  const clientInfo = { name: 'pannier-bench', version: '1.0.0' }
  const params = { protocolVersion: SESSION_VERSION, capabilities: {}, clientInfo }
  const body = JSON.stringify({ jsonrpc: '2.0', id: 0, method: 'initialize', params })
  const { headers } = await post({ port, path: MCP_PATH, headers: FORMATS, body })
  const session = headers['mcp-session-id']
  if (typeof session !== 'string') throw new Error('The server began no session.')
  const done = JSON.stringify({ jsonrpc: '2.0', method: 'notifications/initialized' })
  await post({ port, path: MCP_PATH, headers: { ...FORMATS, ...sessionHeaders(session) }, body: done })
  return session
}
