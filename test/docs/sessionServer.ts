/**
 * A server of the session era by hand. Its one tool asks for a form while the call is under way: on the stream of the
 * call, or on the one that belongs to no request. The result tells what came back.
 */
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { onTestFinished } from 'vitest'

interface Message {
  readonly id?: string | number
  readonly method?: string
  readonly params?: { readonly capabilities?: Record<string, unknown> }
  readonly result?: { readonly action?: string }
  readonly error?: { readonly code: number }
  readonly state?: unknown
}

export interface SessionServer {
  readonly url: string
  /** What its client declared in `initialize`. */
  declared(): unknown
}

const QUESTION = {
  id: 'q',
  method: 'elicitation/create',
  params: { message: 'Go on?', requestedSchema: { type: 'object', properties: {} } },
}

export async function sessionServer(asksOn: 'call' | 'no request'): Promise<SessionServer> {
  let capabilities: Record<string, unknown> = {}
  const standalone = Promise.withResolvers<ServerResponse>()
  const answer = Promise.withResolvers<Message>()

  const call = async (id: unknown, response: ServerResponse): Promise<void> => {
    const own = streaming(response)
    say(asksOn === 'call' ? own : await standalone.promise, { ...QUESTION, ...echoed(capabilities) })
    const { result, error, state } = await answer.promise
    const text = `${result?.action ?? error?.code}, state ${String(state)}`
    say(own, { id, result: { content: [{ type: 'text', text }] } })
    own.end()
  }

  const serve = async (request: IncomingMessage, response: ServerResponse): Promise<unknown> => {
    if (request.method === 'GET') return standalone.resolve(streaming(response))
    if (request.method !== 'POST') return response.end()
    const message = (await json(request)) as Message
    const { id, method, params } = message
    if (method === undefined) answer.resolve(message)
    if (method === undefined || id === undefined) return response.writeHead(202).end()
    if (method === 'tools/call') return call(id, response)
    response.writeHead(200, { 'content-type': 'application/json', 'mcp-session-id': 's' })
    if (method !== 'initialize') return response.end(text({ id, error: { code: -32601, message: 'No such method.' } }))
    capabilities = params?.capabilities ?? {}
    const serverInfo = { name: 'session-era', version: '1.0.0' }
    return response.end(
      text({ id, result: { protocolVersion: '2025-11-25', capabilities: { tools: {} }, serverInfo } }),
    )
  }

  const http = createServer((request, response) => void serve(request, response))
  await new Promise<void>((resolve) => http.listen(0, '127.0.0.1', resolve))
  onTestFinished(() => {
    http.closeAllConnections()
    http.close()
  })
  return {
    url: `http://127.0.0.1:${(http.address() as AddressInfo).port}/mcp`,
    declared: () => capabilities,
  }
}

/** A state, where the client says that it echoes one. */
function echoed({ experimental }: { experimental?: Record<string, unknown> }): object {
  return experimental?.['dev.pannier/state-echo'] === undefined ? {} : { state: 'S' }
}

function streaming(response: ServerResponse): ServerResponse {
  response.writeHead(200, { 'content-type': 'text/event-stream' }).flushHeaders()
  return response
}

function say(stream: ServerResponse, message: object): void {
  stream.write(`data: ${text(message)}\n\n`)
}

function text(message: object): string {
  return JSON.stringify({ jsonrpc: '2.0', ...message })
}
