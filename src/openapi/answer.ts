/** The answer of an API as the result of a tool. */
import type { CallToolResult } from '@modelcontextprotocol/client'
import { plainText } from '../client/index.ts'
import { isObject, mediaTypeOf, parseJson } from '../protocol/index.ts'
import { failure } from '../server/index.ts'
import { faultOf } from './check.ts'
import type { Operation } from './operations.ts'

/** The part of the body that an error quotes. */
const MAX_ERROR_CHARACTERS = 4000

/** Resolves with undefined if the body is longer. */
export async function bodyOf(response: Response, maxBytes: number): Promise<Buffer | undefined> {
  const chunks: Uint8Array[] = []
  let size = 0
  if (response.body === null) return Buffer.alloc(0)
  for await (const chunk of response.body) {
    size += chunk.length
    if (size > maxBytes) return undefined // leaving the loop cancels the rest
    chunks.push(chunk)
  }
  return Buffer.concat(chunks)
}

export function resultOf(operation: Operation, response: Response, body: Buffer, advice: string): CallToolResult {
  const { status, statusText, headers } = response
  const type = mediaTypeOf(headers.get('content-type') ?? undefined)
  if (status < 200 || status > 299) {
    const title = `The API answered HTTP ${[status, plainText(statusText).slice(0, 100)].join(' ').trim()}.`
    const text = isText(type) ? body.toString().slice(0, MAX_ERROR_CHARACTERS) : ''
    return failure([`${title}${advice}`, text].filter(Boolean).join('\n\n'))
  }
  if (/^(?:image|audio)\//.test(type)) return mediaResult(type, body)
  if (!isText(type) && body.length > 0) return blobResult(response, type, body)
  const text = body.toString()
  const value = isJsonText(type) ? parseJson(text, Math.max(body.length, MIN_PARSED_BYTES)) : undefined
  return operation.output === undefined
    ? plainResult(text, value, status)
    : checkedResult(operation, text, value, status)
}

/** Small texts may hold as many values as these. */
const MIN_PARSED_BYTES = 1024 * 1024

function isJsonText(type: string): boolean {
  return type === 'application/json' || type.endsWith('+json')
}

function isText(type: string): boolean {
  return (
    type === '' ||
    type.startsWith('text/') ||
    isJsonText(type) ||
    /[/+](?:xml|yaml|x-www-form-urlencoded|javascript)$/.test(type)
  )
}

function plainResult(text: string, value: unknown, status: number): CallToolResult {
  const content = [{ type: 'text' as const, text: text || `The API answered HTTP ${status} without content.` }]
  return isObject(value) ? { content, structuredContent: value } : { content }
}

/** Clients refuse a result that does not fit its schema, and would not show it to the model. */
function checkedResult({ output = {} }: Operation, text: string, value: unknown, status: number): CallToolResult {
  const fault = value === undefined ? 'it is no JSON of a usual size' : faultOf(output, value)
  if (fault === undefined) return { content: [{ type: 'text', text }], structuredContent: value }
  const sentence = `The API answered HTTP ${status}, so the call was made. Its answer is not as its document says: ${fault}.`
  return failure([sentence, text].filter(Boolean).join('\n\n'))
}

function mediaResult(mimeType: string, body: Buffer): CallToolResult {
  const type = mimeType.startsWith('image/') ? 'image' : 'audio'
  return { content: [{ type, mimeType, data: body.toString('base64') }] }
}

function blobResult({ url }: Response, mimeType: string, body: Buffer): CallToolResult {
  const { origin, pathname } = new URL(url)
  return {
    content: [{ type: 'resource', resource: { uri: origin + pathname, mimeType, blob: body.toString('base64') } }],
  }
}
