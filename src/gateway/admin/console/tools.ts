/** The tools of the gateway, and calls of them from the page: each call is a message of 2026-07-28 to the gateway's own endpoint. */
import { isObject, type Json, META, MODERN_VERSION, parseJson } from '../../../protocol/index.ts'
import { type Field, readFields } from '../../../questions/index.ts'
import type { FetchHandler } from '../../../server/internal.ts'
import type { ConsoleAction, ConsoleTopic } from './desk.ts'
import { RefusedError } from './refused.ts'

/** Maximum number of tools that a page shows at once. */
const MAX_SHOWN = 200
const MAX_PAGES = 200
/** How long a call from the page may take. */
const CALL_MS = 10 * 60_000
/** The console shows forms, and nothing else. */
const ASKABLE: Json = { elicitation: { form: {} } }

/** The endpoint at `/mcp`. */
type EndpointOf = () => FetchHandler

interface ToolAnswer {
  readonly status: number
  /** Each message of the answer. */
  readonly messages: readonly Json[]
}

/** Items: `tools`, and `tool/NAME` for each whose name or description has the `find` of the query. */
export function toolsTopic(endpoint: EndpointOf): ConsoleTopic {
  return {
    read: async ({ find = '' }) => {
      const found = await toolsOf(endpoint())
      if (!Array.isArray(found)) return { tools: { fault: found.fault, count: 0 } }
      const fitting = found.filter(({ name, description = '' }) => has(`${textOf(name)} ${textOf(description)}`, find))
      const items: Record<string, Json> = { tools: { fault: null, count: found.length, fitting: fitting.length } }
      for (const tool of fitting.slice(0, MAX_SHOWN))
        items[`tool/${String(tool['name'])}`] = { ...tool, fields: fieldsOf(tool['inputSchema']) ?? null }
      return items
    },
  }
}

/** Params: the `message`, and the `authorization` of a caller, where the gateway asks for one. */
export function callAction(endpoint: EndpointOf): ConsoleAction {
  return {
    role: 'operator',
    subject: ({ message }) => String(nameIn(message)),
    run: async ({ message, authorization }) => {
      if (nameIn(message) === undefined || !isObject(message))
        throw new RefusedError(400, 'The message has to be a call of a tool.')
      const answered = await send(endpoint(), message, typeof authorization === 'string' ? authorization : undefined)
      return { ...answered, forms: formsOf(answered.messages.at(-1)) }
    },
  }
}

function nameIn(message: unknown): string | undefined {
  if (!isObject(message) || message['method'] !== 'tools/call' || !isObject(message['params'])) return undefined
  const { name } = message['params']
  return typeof name === 'string' ? name : undefined
}

async function toolsOf(endpoint: FetchHandler): Promise<Json[] | { readonly fault: string }> {
  const tools: Json[] = []
  let cursor: unknown
  for (let page = 0; page < MAX_PAGES; page++) {
    const _meta = { [META.version]: MODERN_VERSION, [META.capabilities]: ASKABLE }
    const params = { _meta, ...(cursor !== undefined && { cursor }) }
    const { status, messages } = await send(endpoint, { jsonrpc: '2.0', id: 'tools', method: 'tools/list', params })
    const result = messages.at(-1)?.['result']
    if (!isObject(result) || !Array.isArray(result['tools']))
      return { fault: status === 401 ? NEEDS_TOKEN : `The tools cannot be listed (status ${status}).` }
    tools.push(...result['tools'].filter(isObject))
    cursor = result['nextCursor']
    if (cursor === undefined) break
  }
  return tools
}

const NEEDS_TOKEN =
  'This gateway asks callers who they are, so that its tools are listed for callers alone. Type a name and a token.'

async function send(endpoint: FetchHandler, message: Json, authorization?: string): Promise<ToolAnswer> {
  const name = nameIn(message)
  const headers = {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': MODERN_VERSION,
    'mcp-method': String(message['method']),
    ...(name !== undefined && { 'mcp-name': encoded(name) }),
    ...(authorization !== undefined && { authorization }),
  }
  const body = JSON.stringify(message)
  const signal = AbortSignal.timeout(CALL_MS)
  const response = await endpoint(new Request('http://localhost/mcp', { method: 'POST', headers, body, signal }))
  const text = await response.text()
  const isStream = response.headers.get('content-type')?.startsWith('text/event-stream') === true
  const texts = isStream ? dataOf(text) : [text]
  return { status: response.status, messages: texts.map((each) => parseJson(each, Infinity)).filter(isObject) }
}

/** A value of a header as MCP writes what is not ASCII. */
function encoded(name: string): string {
  return /^[\x21-\x7e]+$/.test(name) ? name : `=?base64?${Buffer.from(name).toString('base64')}?=`
}

function dataOf(stream: string): string[] {
  return stream.split('\n').flatMap((line) => (line.startsWith('data: {') ? [line.slice('data: '.length)] : []))
}

/** The forms that the result of a call asks for. */
function formsOf(answer: Json | undefined): Json[] {
  const { inputRequests } = isObject(answer?.['result']) ? answer['result'] : {}
  if (!isObject(inputRequests)) return []
  return Object.entries(inputRequests).map(([key, request]) => {
    const { message, requestedSchema } = isObject(request) && isObject(request['params']) ? request['params'] : {}
    return { key, message: typeof message === 'string' ? message : '', fields: fieldsOf(requestedSchema) ?? null }
  })
}

/** Undefined where a form cannot hold the values. */
function fieldsOf(schema: unknown): readonly Field[] | undefined {
  try {
    const fields = readFields(schema)
    return fields.some(({ kind }) => kind === 'unknown') ? undefined : fields
  } catch {
    return isObject(schema) && schema['properties'] === undefined ? [] : undefined
  }
}

function textOf(value: unknown): string {
  return typeof value === 'string' ? value : ''
}

function has(text: string, part: string): boolean {
  return text.toLowerCase().includes(part.toLowerCase())
}
