import type { CallToolResult } from '@modelcontextprotocol/client'

/** A tool result of one text. */
export function text(value: string): CallToolResult {
  return { content: [{ type: 'text', text: value }] }
}

/** A tool result that tells the model what failed, in words it can act on. */
export function failure(value: string): CallToolResult {
  return { content: [{ type: 'text', text: value }], isError: true }
}

/** A tool result with structured content, and the same as text for clients that read only text. */
export function structured(value: Record<string, unknown>): CallToolResult {
  return { content: [{ type: 'text', text: JSON.stringify(value) }], structuredContent: value }
}
