import type { CallToolResult } from '@modelcontextprotocol/client'

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
