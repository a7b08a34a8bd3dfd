/** One call of a tool as a message, as `curl`, as a command of the program and as TypeScript. Clients' address is a variable. */
const VERSION = '2026-07-28'
const META = 'io.modelcontextprotocol'

/** `more`: the answers and the state of a later round. */
export function callMessage(name: string, args: object, id: number, more: object = {}): object {
  const _meta = {
    [`${META}/protocolVersion`]: VERSION,
    [`${META}/clientInfo`]: { name: 'pannier-console', version: '1' },
    [`${META}/clientCapabilities`]: { elicitation: { form: {} } },
  }
  return { jsonrpc: '2.0', id, method: 'tools/call', params: { name, arguments: args, ...more, _meta } }
}

export function asCurl(name: string, args: object): string {
  const headers = [
    'content-type: application/json',
    'accept: application/json, text/event-stream',
    `mcp-protocol-version: ${VERSION}`,
    'mcp-method: tools/call',
    `mcp-name: ${name}`,
  ]
  const lines = headers.map((header) => `  -H ${quoted(header)} \\`)
  return ['curl "$URL" \\', ...lines, `  -d ${quoted(JSON.stringify(callMessage(name, args, 1)))}`].join('\n')
}

export function asCommand(name: string, args: object): string {
  return `npx pannier call "$URL" ${quoted(name)} --json ${quoted(JSON.stringify(args))}`
}

export function asTypeScript(name: string, args: object): string {
  return [
    "import { connect } from 'pannier/client'",
    '',
    'const client = await connect(process.env.URL)',
    `const result = await client.callTool({ name: ${JSON.stringify(name)}, arguments: ${JSON.stringify(args)} })`,
  ].join('\n')
}

export const MAX_JSON = 100_000

/** JSON for people, shortened where it is very long. */
export function jsonText(value: unknown): string {
  const text = JSON.stringify(value, null, 2)
  return text.length > MAX_JSON ? `${text.slice(0, MAX_JSON)}\n… ${text.length - MAX_JSON} more characters` : text
}

/** A word of a shell. */
function quoted(text: string): string {
  return `'${text.replaceAll("'", `'\\''`)}'`
}
