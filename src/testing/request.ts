/** The call under exercise as real messages of 2026-07-28. */
import type { ClientCapabilities, InputRequest } from '@modelcontextprotocol/client'
import { findParamHeaders, isObject, type Json, META, MODERN_VERSION } from '../protocol/index.ts'
import type { Server } from '../server/index.ts'

/** What is called. */
export type ExerciseCall =
  | { readonly tool: string; readonly arguments?: Json }
  | { readonly prompt: string; readonly arguments?: Readonly<Record<string, string>> }
  | { readonly resource: string }

/** What the rounds of one call differ in. */
export interface RoundMessage {
  readonly inputResponses?: Readonly<Record<string, Json>>
  readonly requestState?: string
}

export type RoundOutcome =
  | {
      readonly kind: 'asked'
      readonly requests: Readonly<Record<string, InputRequest>>
      readonly state: string | undefined
    }
  | { readonly kind: 'complete'; readonly result: Json }
  | { readonly kind: 'refused'; readonly code: number; readonly message: string }

export interface TestClient {
  readonly capabilities: ClientCapabilities
  readonly headers: Readonly<Record<string, string>>
}

// A name that no guard takes for a local one and no network knows.
const ENDPOINT = 'http://exercise.invalid/mcp'

export function send(
  server: Server,
  call: ExerciseCall,
  message: RoundMessage,
  sender: TestClient,
): Promise<RoundOutcome> {
  const { method, name, params } = subjectOf(call)
  return post(server, method, { ...params, ...message }, sender, { 'mcp-name': headerText(name) })
}

export function nameOf(call: ExerciseCall): string {
  return subjectOf(call).name
}

function subjectOf(call: ExerciseCall): { method: string; name: string; params: Json } {
  if ('resource' in call) return { method: 'resources/read', name: call.resource, params: { uri: call.resource } }
  const [method, name] = 'tool' in call ? ['tools/call', call.tool] : ['prompts/get', call.prompt]
  const args = call.arguments === undefined ? {} : { arguments: call.arguments }
  return { method, name, params: { name, ...args } }
}

async function post(
  server: Server,
  method: string,
  params: Json,
  { capabilities, headers }: TestClient,
  more: Readonly<Record<string, string>> = {},
): Promise<RoundOutcome> {
  const _meta = {
    [META.version]: MODERN_VERSION,
    [META.client]: { name: 'pannier-exercise', version: '1' },
    [META.capabilities]: capabilities,
  }
  const request = new Request(ENDPOINT, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json', // one message; who accepts no stream is spared notifications
      'mcp-protocol-version': MODERN_VERSION,
      'mcp-method': method,
      ...more,
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }),
  })
  return readOutcome(await (await server.fetch(request)).json())
}

function readOutcome(message: unknown): RoundOutcome {
  const { result, error } = message as { result?: Json; error?: { code: number; message: string } }
  if (error !== undefined) return { kind: 'refused', code: error.code, message: error.message }
  const { resultType, inputRequests = {}, requestState } = result as Json
  if (resultType !== 'input_required') return { kind: 'complete', result: withoutMeta(result as Json) }
  return {
    kind: 'asked',
    requests: inputRequests as Record<string, InputRequest>,
    state: requestState as string | undefined,
  }
}

/** Who answered is not part of what was answered. */
function withoutMeta({ _meta, ...result }: Json): Json {
  return result
}

/** The headers of arguments that the tool wants mirrored (`x-mcp-header`). */
export async function mirroredHeaders(
  server: Server,
  call: ExerciseCall,
  sender: TestClient,
): Promise<Record<string, string>> {
  if (!('tool' in call)) return {}
  const headers: Record<string, string> = {}
  for (const { field, path } of findParamHeaders(await inputSchemaOf(server, call.tool, sender))) {
    const value = path.reduce<unknown>((at, key) => (isObject(at) ? at[key] : undefined), call.arguments)
    if (['string', 'number', 'boolean'].includes(typeof value)) headers[field] = headerText(String(value))
  }
  return headers
}

async function inputSchemaOf(server: Server, tool: string, sender: TestClient): Promise<Json> {
  let cursor: unknown
  do {
    const page = await post(server, 'tools/list', cursor === undefined ? {} : { cursor }, sender)
    if (page.kind !== 'complete') return {}
    const found = (page.result['tools'] as Json[]).find(({ name }) => name === tool)
    if (found !== undefined) return found['inputSchema'] as Json
    cursor = page.result['nextCursor']
  } while (cursor !== undefined)
  return {}
}

function headerText(value: string): string {
  const plain = /^[\x21-\x7e](?:[\x20-\x7e]*[\x21-\x7e])?$/.test(value) && !value.startsWith('=?base64?')
  return plain ? value : `=?base64?${Buffer.from(value).toString('base64')}?=`
}
