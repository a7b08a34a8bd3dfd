/**
 * What the stateless revision wants of HTTP, for transports made for sessions: the headers that repeat the body, an
 * error in the body of a 4xx, the end of a stream as the way to cancel. Requests without an envelope pass untouched.
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
import type { WireMessage } from '../layer/transport.ts'
import { cancelledId, errorMessage, isResponse, isRequest, metaIn, paramsOf } from '../layer/message.ts'
import type { WireRequest } from '../layer/message.ts'

/** For one transport. */
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
      return await answered(await inner(url, { ...init, headers, signal }), message, tools, signal, done)
    } catch (error) {
      done()
      if (abort.signal.aborted) return new Response(null, { status: 202 })
      throw error
    }
  }
}

async function answered(
  response: Response,
  request: WireRequest,
  tools: MirroringTools,
  signal: AbortSignal,
  done: () => void,
): Promise<Response> {
  if (isEventStream(response)) return streamed(response, request, tools, signal, done)
  done()
  // A 401 and a 403 are the transport's: it knows how to log in.
  if (!isJson(response) || response.status === 401 || response.status === 403) return response
  const text = await response.text()
  const message = messageIn(text)
  // The older transports read bodies of successes only; and an error from before the request was read has no id.
  if (isObject(message?.['error']) && (message.id ?? request.id) === request.id) {
    return withBody(response, JSON.stringify({ ...message, id: request.id }), 200)
  }
  return withBody(response, tools.heard(request, text))
}

/** There is no coming back to a stream that broke off, so it ends with an answer in any case. */
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
      return tools.heard(request, data)
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

/** Which arguments of which tools go in headers too, as the server's lists say. */
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

  /** Learns from a list of tools. Those that break the rules for headers are left out of it, as the revision asks. */
  heard(request: WireRequest, text: string): string {
    if (request.method !== 'tools/list') return text
    const message = messageIn(text)
    const result = message?.['result']
    if (!isObject(result) || !Array.isArray(result['tools'])) return text
    const tools = (result['tools'] as unknown[]).filter((tool) => isObject(tool) && this.#learn(tool))
    return tools.length === result['tools'].length ? text : JSON.stringify({ ...message, result: { ...result, tools } })
  }

  #learn({ name, inputSchema }: Json): boolean {
    try {
      this.#mirrored.set(String(name), findParamHeaders(isObject(inputSchema) ? inputSchema : {}))
      return true
    } catch {
      this.#mirrored.delete(String(name))
      return false
    }
  }
}

function messageIn(text: unknown): WireMessage | undefined {
  if (typeof text !== 'string') return undefined
  try {
    const message: unknown = JSON.parse(text)
    return isObject(message) ? message : undefined
  } catch {
    return undefined
  }
}
