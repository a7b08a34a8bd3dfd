/** A server on standard input and output whose one tool writes the line that its arguments describe. */
import { createInterface } from 'node:readline'
import type { WrittenLine } from '../shapes/ofProcesses.ts'

const RESULTS: Readonly<Record<string, object>> = {
  initialize: {
    protocolVersion: '2025-11-25',
    capabilities: { tools: {} },
    serverInfo: { name: 'lines', version: '1' },
  },
  'tools/list': { tools: [{ name: 'write', inputSchema: { type: 'object' } }] },
}
const SAID = { content: [{ type: 'text', text: 'said' }] }

interface Asked {
  readonly id?: number
  readonly method?: string
  readonly params?: { readonly arguments?: WrittenLine }
}

function write(text: string): void {
  process.stdout.write(`${text}\n`)
}

function reply(id: number, result: object): void {
  write(JSON.stringify({ jsonrpc: '2.0', id, result }))
}

function answer({ id, method = '', params }: Asked): void {
  if (id === undefined) return
  if (method === 'server/discover')
    return write(JSON.stringify({ jsonrpc: '2.0', id, error: { code: -32601, message: 'There is no such method.' } }))
  const { begin, part, times, end } = params?.arguments ?? {}
  if (method !== 'tools/call' || begin === undefined) return reply(id, RESULTS[method] ?? SAID)
  write(`${begin}${part?.repeat(times ?? 0)}${end?.replace('ID', String(id))}`)
  if (end?.includes('ID') !== true) reply(id, SAID)
}

for await (const line of createInterface(process.stdin)) answer(JSON.parse(line) as Asked)
