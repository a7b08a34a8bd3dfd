/** Questions to session-era clients, in place, by the SDK's own ways and on the stream of the request they belong to. */
import { randomUUID } from 'node:crypto'
import type { InputRequest, RequestOptions, ServerContext } from '@modelcontextprotocol/server'

const INVALID_PARAMS = -32602

/** The client's answer, or undefined when it did not fit and may be asked for again. */
export function push({ mcpReq }: ServerContext, request: InputRequest, timeoutMs: number): Promise<unknown> {
  const options: RequestOptions = {
    relatedRequestId: mcpReq.id,
    signal: mcpReq.signal,
    timeout: timeoutMs,
    resetTimeoutOnProgress: true,
    onprogress: () => {}, // without it no progress token goes out, and nothing would reset the timeout
  }
  switch (request.method) {
    case 'elicitation/create':
      return mcpReq.elicitInput(withId(request.params), options).catch(undefinedWhenUnfit)
    case 'sampling/createMessage':
      return mcpReq.requestSampling(request.params, options)
    case 'roots/list':
      return mcpReq.send({ method: 'roots/list' }, options)
    default:
      return request satisfies never
  }
}

type ElicitParams = Parameters<ServerContext['mcpReq']['elicitInput']>[0]

// 2025-11-25 names each visit to a page; 2026-07-28 does not.
function withId(params: ElicitParams): ElicitParams {
  return params.mode === 'url' ? { ...params, elicitationId: randomUUID() } : params
}

/** The SDK checks content against the form and fails the request; we ask again instead (MRTR-43). */
function undefinedWhenUnfit(error: unknown): undefined {
  if ((error as { code?: unknown }).code !== INVALID_PARAMS) throw error
}
