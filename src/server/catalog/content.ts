import type { CallToolResult } from '@modelcontextprotocol/client'
import { isObject } from '../../protocol/index.ts'
import { UnwritableResultError } from '../errors.ts'
import { shortened } from '../logger.ts'

/** A tool result of one text. */
export function text(value: string): CallToolResult {
  return { content: [{ type: 'text', text: value }] }
}

/** A tool result with structured content of this type. */
export type StructuredResult<T> = CallToolResult & { structuredContent: T }

/** A tool result that says that the tool failed. */
export type FailureResult = CallToolResult & { isError: true }

/** A failed tool result. The model reads its text and can act on it. */
export function failure(value: string): FailureResult {
  return { content: [{ type: 'text', text: value }], isError: true }
}

/** A tool result with structured content, and the same as text for clients that read only text. */
export function structured<T extends object>(value: T): StructuredResult<T> {
  const content = [{ type: 'text' as const, text: written(value) }]
  return { content, structuredContent: value }
}

/** The JSON text of a result, or of a part. The runtime's own message names neither the result nor a remedy. */
export function written(result: unknown): string {
  try {
    return JSON.stringify(result)
  } catch (cause) {
    throw new UnwritableResultError(cause)
  }
}

/** The members that an item of each type needs as strings. */
const MEMBERS: ReadonlyMap<unknown, readonly string[]> = new Map([
  ['text', ['text']],
  ['image', ['data', 'mimeType']],
  ['audio', ['data', 'mimeType']],
  ['resource', []],
  ['resource_link', ['uri', 'name']],
])

/**
 * The fault of the first item that is not valid content; undefined if all are valid. Clients refuse the whole result.
 */
export function contentIssue(content: readonly unknown[]): string | undefined {
  return firstIssue(content, 'item', itemIssue)
}

/** The fault of a prompt's result; undefined if there is none. */
export function promptIssue(result: unknown): string | undefined {
  const messages = isObject(result) ? result['messages'] : undefined
  if (!Array.isArray(messages)) return 'return a string, or a result with "messages", a list.'
  return firstIssue(messages, 'message', messageIssue)
}

/** The fault of a resource's result; undefined if there is none. */
export function resourceIssue(result: unknown): string | undefined {
  const contents = isObject(result) ? result['contents'] : undefined
  if (!Array.isArray(contents)) return 'return a string, bytes, or a result with "contents", a list.'
  return firstIssue(contents, 'item', (item) => (isEmbedded(item) ? undefined : `needs ${EMBEDDED}`))
}

function firstIssue(
  items: readonly unknown[],
  what: string,
  issueOf: (item: unknown) => string | undefined,
): string | undefined {
  for (const [index, item] of items.entries()) {
    const issue = issueOf(item)
    if (issue !== undefined) return `${what} ${index + 1} ${issue}`
  }
  return undefined
}

function messageIssue(message: unknown): string | undefined {
  const { role, content } = isObject(message) ? message : {}
  if (role !== 'user' && role !== 'assistant') return 'needs "role", which is "user" or "assistant".'
  if (!isObject(content)) return 'needs "content", one item of content.'
  const issue = itemIssue(content)
  return issue && `is wrong: its content ${issue}`
}

const EMBEDDED = 'a "uri" and a "text" or "blob", all strings.'

function itemIssue(item: unknown): string | undefined {
  const members = isObject(item) ? item : {}
  const { type } = members
  const needed = MEMBERS.get(type)
  if (needed === undefined) {
    const found = typeof type === 'string' ? `the type "${shortened(type)}"` : 'no type'
    return `has ${found}; use text, image, audio, resource or resource_link.`
  }
  const missing = needed.find((name) => typeof members[name] !== 'string')
  if (missing !== undefined) return `of type ${String(type)} needs "${missing}", a string.`
  return type === 'resource' && !isEmbedded(members['resource'])
    ? `of type resource needs "resource" with ${EMBEDDED}`
    : undefined
}

function isEmbedded(resource: unknown): boolean {
  if (!isObject(resource) || typeof resource['uri'] !== 'string') return false
  return typeof resource['text'] === 'string' || typeof resource['blob'] === 'string'
}
