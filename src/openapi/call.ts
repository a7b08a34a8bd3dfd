/** Sends the request of a call to the API, and reads the answer. */
import type { CallToolResult } from '@modelcontextprotocol/client'
import { failureReason } from '../client/index.ts'
import { sameOrigin } from '../client/internal.ts'
import type { Json } from '../protocol/index.ts'
import { failure } from '../server/index.ts'
import { bodyOf, resultOf } from './answer.ts'
import type { Operation } from './operations.ts'
import { Unsendable } from './parameters.ts'
import { type ApiRequest, type HeaderValues, requestOf } from './request.ts'

export interface ApiCallOptions {
  /** The base address of the API. */
  readonly base: URL
  readonly timeoutMs: number
  readonly maxResponseBytes: number
  /** Advice for an API that refuses the credentials. */
  readonly credentialsAdvice: string
}

/** Never rejects because of the API. */
export async function callApi(
  operation: Operation,
  args: Json,
  own: HeaderValues,
  cancelled: AbortSignal,
  { base, timeoutMs, maxResponseBytes, credentialsAdvice }: ApiCallOptions,
): Promise<CallToolResult> {
  const request = prepared(operation, base, args, own)
  if ('content' in request) return request
  const late = AbortSignal.timeout(timeoutMs)
  try {
    const { url, method, headers, body: content } = request
    const signal = AbortSignal.any([cancelled, late])
    const response = await fetchWithin(url, {
      method,
      headers,
      signal,
      ...(content !== undefined && { body: content }),
    })
    const body = await bodyOf(response, maxResponseBytes)
    if (body === undefined) return failure(tooLarge(response.status, maxResponseBytes))
    const isRefused = response.status === 401 || response.status === 403
    return resultOf(operation, response, body, isRefused ? credentialsAdvice : '')
  } catch (error) {
    if (cancelled.aborted) throw error
    if (late.aborted) return failure(`The API has not answered within ${timeoutMs / 1000} seconds. ${MAYBE}`)
    const { why = 'the connection is broken.' } = failureReason(error)
    return failure(`There is no answer from the API: ${why} ${MAYBE}`)
  }
}

const MAYBE = 'What the call does may have happened.'

function tooLarge(status: number, bytes: number): string {
  return `The API answered HTTP ${status} with more than ${bytes} bytes. Ask for less of it.`
}

function prepared(operation: Operation, base: URL, args: Json, own: HeaderValues): ApiRequest | CallToolResult {
  try {
    return requestOf(operation, base, args, own)
  } catch (error) {
    if (error instanceof Unsendable) return failure(`The arguments do not fit: ${error.message}.`)
    throw error
  }
}

/** Headers and arguments belong to the API that the operator named. */
const fetchWithin = sameOrigin((url, init) => fetch(url, init))
