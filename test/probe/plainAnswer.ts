/** What a server of the older era says that needs no session. */

export const result = (id: unknown, value: object) => ({ jsonrpc: '2.0', id, result: value })

export const error = (id: unknown, code: number, message: string, data?: unknown) => ({
  jsonrpc: '2.0',
  id,
  error: { code, message, ...(data !== undefined && { data }) },
})

export const about = (name = 'odd', capabilities: object = { tools: {} }) => ({
  protocolVersion: '2025-06-18',
  capabilities,
  serverInfo: { name, version: '1.0.0' },
})

const TOOLS = { tools: [{ name: 'a', inputSchema: { type: 'object' } }] }

/** Undefined to a notification. */
export function plainAnswer(
  { id, method }: { readonly id?: unknown; readonly method?: string },
  capabilities?: object,
): object | undefined {
  if (id === undefined) return undefined
  if (method === 'initialize') return result(id, about('odd', capabilities))
  if (method === 'tools/list') return result(id, TOOLS)
  if (method === 'prompts/list') return result(id, { prompts: [] })
  if (method === 'resources/list') return result(id, { resources: [] })
  if (method === 'tools/call') return result(id, { content: [] })
  return error(id, -32601, 'Method not found')
}
