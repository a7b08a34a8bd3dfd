/**
 * A small server of the older era on standard streams, with the habits that its argument names:
 * `dies` ends when it is asked anything before initialize; `deaf` does not answer that; `noisy` prints other things;
 * `parent` has a child that does not go when it is told to, and says both ids; `broken` ends at once.
 */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'

const habit = process.argv[2]
const say = (message: object): void => void process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)

if (habit === 'broken') {
  console.error('\u001b[31mThe oven is missing.')
  process.exit(3)
}
const stubborn =
  habit === 'parent'
    ? spawn('/bin/sh', ['-c', 'trap "" TERM; while :; do sleep 1; done'], { stdio: 'inherit' })
    : undefined

let isOpen = false
createInterface(process.stdin).on('line', (line) => {
  const { id, method, params } = JSON.parse(line)
  if (habit === 'noisy') process.stdout.write('some other line\n{"json": "but no message"}\n')
  if (method === 'initialize') {
    isOpen = true
    const { protocolVersion } = params
    say({ id, result: { protocolVersion, capabilities: { tools: {} }, serverInfo: { name: 'odd', version: '1' } } })
  } else if (!isOpen) {
    if (habit === 'dies') process.exit(1)
    if (habit !== 'deaf' && id !== undefined) say({ id, error: { code: -32601, message: 'Method not found' } })
  } else if (method === 'tools/list') {
    say({ id, result: { tools: [{ name: 'ids', inputSchema: { type: 'object' } }] } })
  } else if (method === 'tools/call') {
    say({ id, result: { content: [{ type: 'text', text: `${process.pid} ${stubborn?.pid ?? ''}` }] } })
  }
})
