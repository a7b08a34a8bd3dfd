/** The hostile server on standard input and output. It also asks when nobody called. */
import { createInterface } from 'node:readline'
import { Hostile } from '../fixtures/servers/hostile.ts'

const hostile = new Hostile()
const say = (message: object): void => void process.stdout.write(`${JSON.stringify({ jsonrpc: '2.0', ...message })}\n`)

for await (const line of createInterface(process.stdin)) {
  const message = JSON.parse(line)
  void hostile.serve(message, say, () => undefined)
  // When its answer is out, nothing of the client is under way.
  if (message.params?.name === 'ask_later') setTimeout(() => hostile.askUnrelated(say), 20)
}
