/** The two servers of the results table, and a third kind: what they answer, apart from how they are reached. */

export interface Message {
  readonly id?: unknown
  readonly method: string
}

const TOOLS = [
  { name: 'list_branches', description: '...' },
  { name: 'get_file_contents', description: '...' },
]

const initialized = (name: string, capabilities: object = { tools: {} }) => ({
  result: {
    protocolVersion: '2024-11-05',
    capabilities,
    serverInfo: { name, version: '1.0.0' },
  },
})

/** GitHub-style: every request stands alone. */
export function githubStyle({ id, method }: Message): string | undefined {
  if (id === undefined) return undefined
  if (method === 'initialize') return message(id, initialized('github'))
  if (method === 'tools/list') return message(id, { result: { tools: TOOLS } })
  return message(id, { error: { code: -32601, message: 'Method not found' } })
}

/** Its bare list fails with an error that says nothing about sessions, so that only its capabilities are left to judge by. */
export function unclearStyle({ id, method }: Message): string | undefined {
  if (id === undefined) return undefined
  if (method === 'initialize')
    return message(id, initialized('rest-api', { logging: {}, tools: { listChanged: true } }))
  return message(id, { error: { code: -32603, message: 'Out of paper' } })
}

/** Serena-style: nothing but `initialize` before it, with the error of the detection document. */
export class SerenaStyle {
  #isInitialized = false

  answer({ id, method }: Message): string | undefined {
    if (id === undefined) return undefined
    if (method === 'initialize') {
      this.#isInitialized = true
      return message(id, initialized('serena'))
    }
    if (!this.#isInitialized) {
      return message(id, { error: { code: 0, message: `method '${method}' is invalid during session initialization` } })
    }
    return message(id, { result: { tools: TOOLS } })
  }
}

function message(id: unknown, rest: object): string {
  return JSON.stringify({ jsonrpc: '2.0', id, ...rest })
}
