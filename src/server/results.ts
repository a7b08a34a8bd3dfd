/** Results and messages as JSON text. Every result has its type and, in the stateless era, the server's identity. */
import type { InputRequest } from '@modelcontextprotocol/client'
import { isObject, type Json, META, parseJson, type RequestId, toObject, utf8Length } from '../protocol/index.ts'
import type { ServerIdentity } from './options.ts'
import type { Peer } from './call.ts'
import { written } from './catalog/content.ts'
import { ServerError } from './errors.ts'
import type { WireError } from './wireErrors.ts'

const MAX_BYTES = 16 * 1024 * 1024
/** For members of a task beside its result. */
const TASK_BYTES = 16 * 1024

export class Results {
  readonly #identity: ServerIdentity
  readonly #plainEnd: string
  readonly #maxBytes: number

  /** A result of more than `maxBytes` is an error. */
  constructor(identity: ServerIdentity, maxBytes = MAX_BYTES) {
    this.#identity = identity
    this.#maxBytes = maxBytes
    this.#plainEnd = `,"_meta":${JSON.stringify({ [META.server]: identity })}}`
  }

  /** `extraMeta` is for this client alone, so a result that has it is for no shared cache. */
  complete(result: Json, peer: Peer, extraMeta?: Json): string {
    return this.#limited(this.#text(result, peer, extraMeta))
  }

  /** A task, perhaps with its result. The result was limited when the handler returned it, so it is always sent. */
  ofTask(result: Json, peer: Peer): string {
    return this.#limited(this.#text(result, peer), this.#maxBytes + TASK_BYTES)
  }

  #text(result: Json, peer: Peer, extraMeta?: Json): string {
    // The usual result has no `_meta` of its own, so the rest of the text is the same for all.
    const isPlain = extraMeta === undefined && !('_meta' in result) && !('resultType' in result)
    if (isPlain && peer.era === 'modern') return plainText(written(result), this.#plainEnd)
    const meta = this.#meta(result['_meta'] as Json | undefined, peer, extraMeta)
    const caching = extraMeta !== undefined && privateCaching(result)
    const taken = peer.era === 'modern' ? result : withObjectOutput(result)
    return written({ resultType: 'complete', ...taken, ...caching, ...(meta !== undefined && { _meta: meta }) })
  }

  /** The text of a result with more in its `_meta`, which is for this client alone. */
  withMeta(text: string, meta: Json): string {
    const result = JSON.parse(text) as Json
    return JSON.stringify({
      ...result,
      ...privateCaching(result),
      _meta: { ...(result['_meta'] as Json | undefined), ...meta },
    })
  }

  inputRequired(
    requests: ReadonlyMap<string, InputRequest>,
    requestState: string | undefined,
    peer: Peer,
    extraMeta?: Json,
  ): string {
    const meta = this.#meta(undefined, peer, extraMeta)
    return JSON.stringify({
      resultType: 'input_required',
      ...(requests.size > 0 && { inputRequests: toObject(requests) }),
      ...(requestState !== undefined && { requestState }),
      ...(meta !== undefined && { _meta: meta }),
    })
  }

  /** The result of a call that became a task, which the task service has written. */
  task(text: string): string {
    return text
  }

  #limited(text: string, maxBytes = this.#maxBytes): string {
    // No character of a string takes more than three bytes, so that most results need not be counted.
    if (text.length * 3 <= maxBytes || utf8Length(text) <= maxBytes) return text
    throw new ServerError(
      'RESULT_TOO_LARGE',
      `The result is larger than ${this.#maxBytes} bytes. Return less of it, page by page or as a resource, or raise maxResultBytes.`,
    )
  }

  #meta(own: Json | undefined, { era }: Peer, extra: Json | undefined): Json | undefined {
    if (era === 'modern') return { [META.server]: this.#identity, ...own, ...extra }
    return own === undefined && extra === undefined ? undefined : { ...own, ...extra }
  }
}

/** How many items are compared with structured content: servers that repeat it as text do so in the first. */
const MAX_REPEATED = 3

/** Structured content of revision 2025-11-25 is an object, and its clients refuse a result with another: that is text. */
export function withObjectOutput(result: Json): Json {
  const { structuredContent, ...rest } = result
  if (structuredContent === undefined || isObject(structuredContent)) return result
  const content: unknown[] = Array.isArray(rest['content']) ? rest['content'] : []
  const text = written(structuredContent)
  const isThere = content
    .slice(0, MAX_REPEATED)
    .some((item) => isObject(item) && saysSame(item['text'], structuredContent, text))
  return isThere ? rest : { ...rest, content: [...content, { type: 'text', text }] }
}

/** Servers may write the text with spaces, and a string as it is. */
function saysSame(said: unknown, value: unknown, text: string): boolean {
  return typeof said === 'string' && (said === value || said === text || JSON.stringify(parseJson(said)) === text)
}

function privateCaching(result: Json): Json {
  return 'cacheScope' in result ? { cacheScope: 'private' } : {}
}

function plainText(result: string, end: string): string {
  return result === '{}' ? `{"resultType":"complete"${end}` : `{"resultType":"complete",${result.slice(1, -1)}${end}`
}

/** A response with the text of its result. */
export function resultMessage(id: RequestId, result: string): string {
  return `{"jsonrpc":"2.0","id":${JSON.stringify(id)},"result":${result}}`
}

export function errorMessage(id: RequestId | undefined, { code, message, data }: WireError): string {
  return JSON.stringify({
    jsonrpc: '2.0',
    ...(id !== undefined && { id }),
    error: { code, message, ...(data !== undefined && { data }) },
  })
}

export function notificationMessage(method: string, params: Json): string {
  return JSON.stringify({ jsonrpc: '2.0', method, params })
}
