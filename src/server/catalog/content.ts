import type { CallToolResult } from '@modelcontextprotocol/client'
import { isObject } from '../../protocol/index.ts'
import { shortened } from '../logger.ts'

/** A tool result of one text. */
export function text(value: string): CallToolResult {
  return { content: [{ type: 'text', text: value }] }
}

/** A tool result with structured content of this type. */
export type StructuredResult<T> = CallToolResult & { structuredContent: T }

/** A tool result that says that the tool failed. */
export type FailureResult = CallToolResult & { isError: true }

/** A tool result that tells the model what failed, in words it can act on. */
export function failure(value: string): FailureResult {
  return { content: [{ type: 'text', text: value }], isError: true }
}

/** A tool result with structured content, and the same as text for clients that read only text. */
export function structured<T extends object>(value: T): StructuredResult<T> {
  const content = [{ type: 'text' as const, text: JSON.stringify(value) }]
  return { content, structuredContent: value }
}

/** The members that an item of each type needs as strings. */
const MEMBERS: ReadonlyMap<unknown, readonly string[]> = new Map([
  ['text', ['text']],
  ['image', ['data', 'mimeType']],
  ['audio', ['data', 'mimeType']],
  ['resource', []],
  ['resource_link', ['uri', 'name']],
])

/** What is wrong with the first item that is no content; undefined when all are. Clients refuse the whole result. */
export function contentIssue(content: readonly unknown[]): string | undefined {
  for (const [index, item] of content.entries()) {
    const issue = itemIssue(item)
    if (issue !== undefined) return `item ${index + 1} ${issue}`
  }
  return undefined
}

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
    ? 'of type resource needs "resource" with a "uri" and a "text" or "blob", all strings.'
    : undefined
}

function isEmbedded(resource: unknown): boolean {
  if (!isObject(resource) || typeof resource['uri'] !== 'string') return false
  return typeof resource['text'] === 'string' || typeof resource['blob'] === 'string'
}
