/**
 * The HTTP rules of the stateless revision, for transports made for sessions: headers that repeat parts of the body,
 * errors in the body of a 4xx response, cancelling by ending the stream. Requests without an envelope pass unchanged.
 */
import type { FetchLike } from '@modelcontextprotocol/client'
import {
  CODES,
  findParamHeaders,
  hasEnvelope,
  isObject,
  type Json,
  META,
  type ParamHeader,
  paramHeaderValues,
  requestHeaders,
  type RequestId,
} from '../../protocol/index.ts'
import { isEventStream, isJson, mapEvents, endingQuietly, withBody } from '../transports/eventStream.ts'
import {
  cancelledId,
  errorMessage,
  isRequest,
  isResponse,
  messageIn,
  metaIn,
  paramsOf,
  type WireRequest,
} from '../layer/message.ts'

/** Wraps `fetch`. Each transport needs one of its own. */
export function modernFetch(inner: FetchLike = fetch): FetchLike {
  const underWay = new Map<RequestId, AbortController>()
  const tools = new MirroringTools()

  return async (url, init) => {
    const message = messageIn(init?.body)
    const cancelled = message && cancelledId(message)
    if (cancelled !== undefined && underWay.has(cancelled)) {
      underWay.get(cancelled)?.abort()
      return new Response(null, { status: 202 })
    }
    if (message === undefined || !isRequest(message) || !hasEnvelope(paramsOf(message))) return inner(url, init)
    const abort = new AbortController()
    const signal = AbortSignal.any([abort.signal, ...(init?.signal ? [init.signal] : [])])
    underWay.set(message.id, abort)
    const done = (): void => void underWay.delete(message.id)
    try {
      const headers = new Headers(init?.headers)
      for (const [name, value] of Object.entries(tools.headersOf(message))) headers.set(name, value)
      return await readable(await inner(url, { ...init, headers, signal }), message, tools, signal, done)
    } catch (error) {
      done()
      if (abort.signal.aborted) return new Response(null, { status: 202 })
      throw error
    }
  }
}

async function readable(
  response: Response,
  request: WireRequest,
  tools: MirroringTools,
  signal: AbortSignal,
  done: () => void,
): Promise<Response> {
  if (isEventStream(response)) return streamed(response, request, tools, signal, done)
  done()
  // The transport itself handles 401 and 403: it knows how to log in.
  if (!isJson(response) || response.status === 401 || response.status === 403) return response
  const text = await response.text()
  const message = messageIn(text)
  // Transports for sessions read only the bodies of successful responses. An error response may lack the id, where the
  // server could not read the request.
  if (isObject(message?.['error']) && (message.id ?? request.id) === request.id) {
    return withBody(response, JSON.stringify({ ...message, id: request.id }), 200)
  }
  return withBody(response, tools.learn(request, text))
}

/** A stream of the stateless revision cannot be resumed: one that breaks off ends with an error response. */
function streamed(
  response: Response,
  request: WireRequest,
  tools: MirroringTools,
  signal: AbortSignal,
  done: () => void,
): Response {
  let isAnswered = false
  return mapEvents(endingQuietly(response), {
    each(data) {
      const message = messageIn(data)
      if (message !== undefined && isResponse(message) && message.id === request.id) isAnswered = true
      return tools.learn(request, data)
    },
    last() {
      done()
      if (isAnswered || signal.aborted) return undefined
      const code = 'STREAM_ENDED'
      const sentence = 'The connection ended before the answer came; the request may have had effects.'
      return JSON.stringify(errorMessage(request.id, CODES.INTERNAL_ERROR, sentence, { code }))
    },
  })
}

/** Which arguments of which tools are repeated in headers, as the tool lists of the server say. */
class MirroringTools {
  readonly #mirrored = new Map<string, readonly ParamHeader[]>()

  headersOf({ method, params }: WireRequest & { readonly params?: unknown }): Record<string, string> {
    const given = isObject(params) ? params : {}
    const mirrored = method === 'tools/call' ? this.#mirrored.get(String(given['name'])) : undefined
    return {
      ...requestHeaders(method, given, String(metaIn(given)[META.version])),
      ...(mirrored !== undefined && paramHeaderValues(mirrored, given['arguments'])),
    }
  }

  /** Reads a list of tools. Tools that break the rules for headers are left out of it, as the revision demands. */
  learn(request: WireRequest, text: string): string {
    if (request.method !== 'tools/list') return text
    const message = messageIn(text)
    const result = message?.['result']
    if (!isObject(result) || !Array.isArray(result['tools'])) return text
    const tools = (result['tools'] as unknown[]).filter((tool) => isObject(tool) && this.#learnTool(tool))
    return tools.length === result['tools'].length ? text : JSON.stringify({ ...message, result: { ...result, tools } })
  }

  #learnTool({ name, inputSchema }: Json): boolean {
    try {
      this.#mirrored.set(String(name), findParamHeaders(isObject(inputSchema) ? inputSchema : {}))
      return true
    } catch {
      this.#mirrored.delete(String(name))
      return false
    }
  }
}
