/** Sends the exercised call to a server as requests of 2026-07-28. */
import type { ClientCapabilities, InputRequest } from '@modelcontextprotocol/client'
import {
  declaresTasks,
  findParamHeaders,
  type Json,
  META,
  MODERN_VERSION,
  paramHeaderValues,
  requestHeaders,
} from '../protocol/index.ts'
import type { Server } from '../server/index.ts'

/** The call to exercise: of a tool, a prompt or a resource. */
export type ExerciseCall =
  | { readonly tool: string; readonly arguments?: Json }
  | { readonly prompt: string; readonly arguments?: Readonly<Record<string, string>> }
  | { readonly resource: string }

/** The parameters in which the rounds of one call differ. */
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
  | { readonly kind: 'task'; readonly id: string }
  | { readonly kind: 'refused'; readonly code: number; readonly message: string }

/** The members that the client of an exercise sends with each request. */
export interface TestClient {
  readonly capabilities: ClientCapabilities
  readonly headers: Readonly<Record<string, string>>
}

/** The default capabilities of clients. */
export const EVERYTHING: ClientCapabilities = {
  elicitation: { form: {}, url: {} },
  sampling: { tools: {} },
  roots: {},
}

// `.invalid` exists in no network, and is not treated as a local host.
export const ENDPOINT = 'http://exercise.invalid/mcp'

export async function send(
  server: Server,
  call: ExerciseCall,
  message: RoundMessage,
  client: TestClient,
): Promise<RoundOutcome> {
  const { method, params } = subjectOf(call)
  return readOutcome(await post(server, method, { ...params, ...message }, client))
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

export interface PostReply {
  readonly result?: Json
  readonly error?: { readonly code: number; readonly message: string; readonly data?: Json }
}

export async function post(
  server: Server,
  method: string,
  params: Json,
  { capabilities, headers }: TestClient,
): Promise<PostReply> {
  const _meta = {
    [META.version]: MODERN_VERSION,
    [META.client]: { name: 'pannier-exercise', version: '1' },
    [META.capabilities]: capabilities,
  }
  const request = new Request(ENDPOINT, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json', // without text/event-stream, the server sends one message and no notifications
      ...requestHeaders(method, params, MODERN_VERSION),
      ...headers,
    },
    body: JSON.stringify({ jsonrpc: '2.0', id: 1, method, params: { ...params, _meta } }),
  })
  return (await (await server.fetch(request)).json()) as PostReply
}

function readOutcome({ result, error }: PostReply): RoundOutcome {
  if (error !== undefined) return refusal(error)
  const { resultType, inputRequests = {}, requestState, taskId } = result as Json
  if (resultType === 'task') return { kind: 'task', id: String(taskId) }
  if (resultType !== 'input_required') return { kind: 'complete', result: withoutMeta(result as Json) }
  return {
    kind: 'asked',
    requests: inputRequests as Record<string, InputRequest>,
    state: requestState as string | undefined,
  }
}

function refusal({ code, message, data }: NonNullable<PostReply['error']>): RoundOutcome {
  const advice = declaresTasks(data?.['requiredCapabilities'] ?? {}) ? ' Pass { tasks: true } to exercise.' : ''
  return { kind: 'refused', code, message: `${message}${advice}` }
}

/** `_meta` names the server that answered, and is not compared. */
export function withoutMeta({ _meta, ...result }: Json): Json {
  return result
}

/** The `Mcp-Param-…` headers of a tool call, by the `x-mcp-header` annotations of the tool's input schema. */
export async function paramHeadersOf(
  server: Server,
  call: ExerciseCall,
  client: TestClient,
): Promise<Record<string, string>> {
  if (!('tool' in call)) return {}
  return paramHeaderValues(findParamHeaders(await inputSchemaOf(server, call.tool, client)), call.arguments)
}

async function inputSchemaOf(server: Server, tool: string, client: TestClient): Promise<Json> {
  let cursor: unknown
  do {
    const { result } = await post(server, 'tools/list', cursor === undefined ? {} : { cursor }, client)
    if (result === undefined) return {}
    const found = (result['tools'] as Json[]).find(({ name }) => name === tool)
    if (found !== undefined) return found['inputSchema'] as Json
    cursor = result['nextCursor']
  } while (cursor !== undefined)
  return {}
}
