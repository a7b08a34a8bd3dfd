/** Calls the tool of `server.ts` by hand, to show the messages of both rounds. A client library does this for you. */
const url = process.argv[2] ?? 'http://127.0.0.1:3000/mcp'

interface Result {
  readonly resultType: 'complete' | 'input_required'
  readonly inputRequests?: Record<string, { readonly params: { readonly message: string } }>
  readonly requestState?: string
  readonly content?: readonly { readonly text: string }[]
}

// #region send
async function send(id: number, retry: object = {}): Promise<Result> {
  const response = await fetch(url, {
    method: 'POST',
    headers: {
      'content-type': 'application/json',
      accept: 'application/json, text/event-stream',
      'mcp-protocol-version': '2026-07-28',
      'mcp-method': 'tools/call',
      'mcp-name': 'delete_branch',
    },
    body: JSON.stringify({
      jsonrpc: '2.0',
      id,
      method: 'tools/call',
      params: {
        name: 'delete_branch',
        arguments: { branch: 'old-idea' },
        ...retry,
        _meta: {
          'io.modelcontextprotocol/protocolVersion': '2026-07-28',
          'io.modelcontextprotocol/clientCapabilities': { elicitation: { form: {} } },
        },
      },
    }),
  })
  const { result } = (await response.json()) as { result: Result }
  return result
}
// #endregion send

// #region rounds
const first = await send(1)
console.log('asked: ', first.inputRequests?.['sure']?.params.message)
console.log('state: ', first.requestState?.length, 'characters that only the server can read')

const second = await send(2, {
  inputResponses: { sure: { action: 'accept', content: { sure: true } } },
  requestState: first.requestState,
})
console.log('result:', second.content?.[0]?.text)
// #endregion rounds

export {}
