/** One request of revision 2026-07-28 by plain `fetch`: an envelope in each request, and no session. */

export interface RequestMessage {
  readonly jsonrpc: '2.0'
  readonly id: number
  readonly method: string
  readonly params: Readonly<Record<string, unknown>>
}

export interface AnswerMessage {
  readonly [member: string]: unknown
  readonly id?: number
  readonly result?: Readonly<Record<string, unknown>>
  readonly error?: { readonly code: number; readonly message: string }
}

const VERSION = '2026-07-28'
const META = 'io.modelcontextprotocol'

/** Why a request has more members than a document prints. */
export const ENVELOPE = {
  'params._meta': `Revision ${VERSION} has no initialize: each request names its revision, and what its client can do.`,
}

/** Why an answer has more members than a document prints. */
export const SERVER_INFO = {
  'result._meta': `Revision ${VERSION} has no initialize: each result says which server it comes from.`,
}

/** The message with its envelope, as it is sent. */
export function enveloped({ params, ...message }: RequestMessage, capabilities: object): RequestMessage {
  const _meta = {
    ...(params['_meta'] as object | undefined),
    [`${META}/protocolVersion`]: VERSION,
    [`${META}/clientCapabilities`]: capabilities,
  }
  return { ...message, params: { ...params, _meta } }
}

export async function send(url: string, message: RequestMessage): Promise<AnswerMessage> {
  const { method, params } = message
  const name = params['name'] ?? params['uri'] ?? params['taskId']
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': VERSION,
      'mcp-method': method,
      ...(typeof name === 'string' && { 'mcp-name': name }),
    },
    body: JSON.stringify(message),
    signal: AbortSignal.timeout(10_000),
  })
  return (await response.json()) as AnswerMessage
}
