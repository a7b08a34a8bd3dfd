/** Programs that behave in ways that servers do, and in some that they should not. The argument says in which. */
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { plainAnswer } from '../fixtures/legacyAnswers.ts'

interface Message {
  readonly id?: number
  readonly method: string
}

const way = process.argv[2] ?? ''
const say = (message: unknown): void => console.log(JSON.stringify(message))
const error = (id: unknown, code: number, message: string): void =>
  say({ jsonrpc: '2.0', id, error: { code, message } })
let isInitialized = false

const WAYS: Record<string, (message: Message) => unknown> = {
  /** As one official SDK does: whatever is not `initialize` ends it. */
  'exits on the unknown': (message) => {
    if (message.method !== 'initialize' && !isInitialized) process.exit(1)
    return answer(message)
  },
  /** As another does: an error that says nothing of what is missing. */
  'blames the parameters': (message) => {
    if (message.method !== 'initialize' && !isInitialized)
      return error(message.id, -32602, 'Invalid request parameters')
    return answer(message)
  },
  'logs on stdout': (message) => {
    console.log('INFO: got a message {not json}')
    return answer(message)
  },
  'logs JSON on stdout': (message) => {
    say({ level: 50, error: 'session store is missing' })
    say({ level: 50, error: { message: 'not initialized' } })
    return answer(message)
  },
  'complains without end': () => setInterval(() => process.stderr.write('x\n'.repeat(30_000)), 1),
  'starts slowly': answer,
  'offers prompts': (message) => say(plainAnswer(message, { prompts: {} })),
  'never answers': () => undefined,
  'ignores what it does not know': (message) => (message.method === 'server/discover' ? undefined : answer(message)),
  'asks first': (message) => {
    say({ jsonrpc: '2.0', id: 'q', method: 'roots/list' })
    return answer(message)
  },
  'writes without end': () => setInterval(() => process.stdout.write('x'.repeat(65_536)), 1),
  'writes lines without end': () => setInterval(() => process.stdout.write('{"jsonrpc":"2.0"}\n'.repeat(5_000)), 1),
  'has grandchildren': answer,
}

function answer(message: Message): void {
  if (message.method === 'initialize') isInitialized = true
  const said = plainAnswer(message)
  if (said !== undefined) say(said)
}

if (way === 'ends at once') {
  console.error('Missing TOKEN_VALUE=%s', process.env['TOKEN_VALUE'])
  process.exit(3)
}
if (way === 'has grandchildren') {
  process.on('SIGTERM', () => undefined)
  const script = 'process.on("SIGTERM", () => {}); setInterval(() => {}, 1000)'
  const child = spawn(process.execPath, ['-e', script], { stdio: 'ignore' })
  console.log(`pids ${process.pid} ${child.pid}`)
  setInterval(() => undefined, 1000)
}
if (way === 'starts slowly') await new Promise((resolve) => setTimeout(resolve, 400))
for await (const line of createInterface(process.stdin)) WAYS[way]?.(JSON.parse(line) as Message)
