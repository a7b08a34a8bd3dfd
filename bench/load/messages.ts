/**
 * The requests of the bench: complete, valid `tools/call` requests of 2026-07-28.
 * The text of an echo is derived from its id, so a response can be checked without its request.
 */
export const PROTOCOL_VERSION = '2026-07-28'
export const SESSION_VERSION = '2025-11-25'
export const MCP_PATH = '/mcp'

/** The `_meta` of each stateless request. */
export const ENVELOPE = {
  'io.modelcontextprotocol/protocolVersion': PROTOCOL_VERSION,
  'io.modelcontextprotocol/clientInfo': { name: 'pannier-bench', version: '1.0.0' },
  'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
}

/** What the request of a later round has besides the original parameters. */
export interface Retry {
  requestState: string
  inputResponses: Record<string, { action: 'accept'; content: Record<string, unknown> }>
}

export function toolCall(id: number, name: string, args: Record<string, unknown>, retry?: Retry): string {
  const params = { name, arguments: args, ...retry, _meta: ENVELOPE }
  return JSON.stringify({ jsonrpc: '2.0', id, method: 'tools/call', params })
}

export function echoText(id: number): string {
  return `What number ${id} has to say, at the length of a short sentence.`
}

/** A single tool is named `echo`; a thousand are `echo_0` to `echo_999`. */
export function echoName(index: number, registered: number): string {
  return registered === 1 ? 'echo' : `echo_${index % registered}`
}

export function httpHeaders(toolName: string): Record<string, string> {
  return {
    'Content-Type': 'application/json',
    Accept: 'application/json, text/event-stream',
    'MCP-Protocol-Version': PROTOCOL_VERSION,
    'Mcp-Method': 'tools/call',
    'Mcp-Name': toolName,
  }
}

/** The request as it goes over the wire. */
export function httpRequest(port: number, toolName: string, body: string, path = MCP_PATH): string {
  const headers = { Host: `127.0.0.1:${port}`, ...httpHeaders(toolName), 'Content-Length': Buffer.byteLength(body) }
  const lines = Object.entries(headers).map(([name, value]) => `${name}: ${value}\r\n`)
  return `POST ${path} HTTP/1.1\r\n${lines.join('')}\r\n${body}`
}
