/** Sends one JSON-RPC request as a client of revision 2026-07-28 does: without a session. */
export interface RequestMessage {
  readonly jsonrpc: '2.0'
  readonly id: number
  readonly method: string
  readonly params: { readonly name: string; readonly [member: string]: unknown }
}

/** A form for the person at the client. */
export interface FormRequest {
  readonly method: 'elicitation/create'
  readonly params: {
    readonly message: string
    readonly requestedSchema: { readonly properties: Readonly<Record<string, Field>> }
  }
}

export interface Field {
  readonly type: string
  readonly enum?: readonly string[]
  readonly description?: string
}

export interface Result {
  readonly resultType: 'complete' | 'input_required'
  readonly inputRequests?: Readonly<Record<string, FormRequest>>
  readonly requestState?: string
  readonly content?: readonly { readonly type: string; readonly text: string }[]
  readonly isError?: boolean
  readonly _meta?: Readonly<Record<string, unknown>>
}

export interface AnswerMessage {
  readonly jsonrpc: '2.0'
  readonly id: number
  readonly result?: Result
  readonly error?: { readonly code: number; readonly message: string }
}

const VERSION = '2026-07-28'

// #region envelope
/** Each request names its client and the client's capabilities, because no instance remembers earlier requests. */
export function withEnvelope({ params, ...message }: RequestMessage): RequestMessage {
  const _meta = {
    'io.modelcontextprotocol/protocolVersion': VERSION,
    'io.modelcontextprotocol/clientInfo': { name: 'work-items-demo', version: '1.0.0' },
    'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
  }
  return { ...message, params: { ...params, _meta } }
}
// #endregion envelope

export async function post(url: string, message: RequestMessage, signal?: AbortSignal): Promise<AnswerMessage> {
  const response = await fetch(url, {
    method: 'POST',
    headers: headersOf(message),
    body: JSON.stringify(withEnvelope(message)),
    signal: signal ?? null,
  })
  return (await response.json()) as AnswerMessage
}

export function headersOf({ method, params }: Pick<RequestMessage, 'method' | 'params'>): Record<string, string> {
  return {
    'content-type': 'application/json',
    accept: 'application/json, text/event-stream',
    'mcp-protocol-version': VERSION,
    'mcp-method': method,
    'mcp-name': params.name,
  }
}

/** Which instance answered: every result has the server's name and title in its `_meta`. */
export function servedBy({ result }: AnswerMessage): string | undefined {
  const server = result?._meta?.['io.modelcontextprotocol/serverInfo'] as { title?: string } | undefined
  return server?.title?.replace('Instance ', '')
}
