/** A server of the session era that ends when its first message is no `initialize`, as some SDKs make them. */
import { createInterface } from 'node:readline'

const say = (message: object): void => void process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)
let isFirst = true

for await (const line of createInterface(process.stdin)) {
  const { id, method, params } = JSON.parse(line)
  if (isFirst && method !== 'initialize') process.exit(1)
  isFirst = false
  process.stderr.write(`${method}\n`)
  if (method === 'initialize') {
    const { protocolVersion, capabilities } = params
    say({ id, result: { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'old', version: '1' } } })
    process.stderr.write(`declared ${JSON.stringify(capabilities)}\n`)
  } else if (id !== undefined) say({ id, result: { content: [{ type: 'text', text: 'called' }] } })
}
