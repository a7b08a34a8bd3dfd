/** `npm run demo -- scope`: SEP-2260, a server asks only inside a request of its client. */
import { once } from 'node:events'
import { type Instance, startInstances } from '../../work-items/fleet.ts'
import { headline, note, say } from '../../work-items/show.ts'
import { enveloped, send } from '../modern.ts'
import { modernCall, textOf } from '../modernCall.ts'
import { Session } from '../session.ts'
import { step } from '../transcript.ts'

const SAMPLING = { sampling: {} }
const ANSWER = {
  role: 'assistant',
  model: 'a-model',
  content: { type: 'text', text: 'Sales rise by 4 % a month.' },
}

export async function scopeDemo(): Promise<void> {
  headline('SEP-2260: a server may ask its client only while it serves a request of that client')
  const [a] = await startInstances(['A'], new URL('server.ts', import.meta.url))
  await showBackgroundTask(a)
  await showStateless(a.url)
  await showSession(a.url)
  say()
  say(
    'Shown: a context ends with the response to its request, and a server has nothing else to ask with. A client that',
  )
  say('is asked outside its requests refuses, too: docs/how-to/layers.md has the layer scope.')
  say('Read next: examples/demos/scope/server.ts, and docs/how-to/asking.md.')
}

async function showBackgroundTask({ url, child }: Instance): Promise<void> {
  say()
  headline('"PROHIBITED: Standalone server push"')
  note('  document   await session.create_message(...)  # NOT ALLOWED')
  note("  here       await ctx.sample('summary', …)     after the response to its request")
  const refused = once(child, 'message') as Promise<[{ refused: { code: string; message: string } }]>
  const params = { name: 'start_background_task', arguments: {} }
  const request = { jsonrpc: '2.0', id: 1, method: 'tools/call', params } as const
  say(`  the call   ${textOf(await send(url, enveloped(request, SAMPLING)))}`)
  const [{ refused: error }] = await refused
  say(`  the task   ${error.code}: ${error.message}`)
}

async function showStateless(url: string): Promise<void> {
  say()
  headline(
    '"SUPPORTED: Sampling during tool execution", with a stateless client: the question is the result of its call',
  )
  const call = modernCall('analyze_data', { data: 'sales' }, SAMPLING)
  const first = await call.round(url)
  step('The client calls analyze_data.', first.sent)
  step('The server asks.', first.received)
  const second = await call.round(url, { analysis: ANSWER })
  step('The client calls again, with what its model wrote.', second.sent)
  step('The server is done.', second.received)
}

async function showSession(url: string): Promise<void> {
  say()
  headline('The same tool with a client of the session era: the question comes on the stream of its call')
  const session = await Session.begin(url, SAMPLING)
  const params = { name: 'analyze_data', arguments: { data: 'sales' } }
  const request = { jsonrpc: '2.0', id: 7, method: 'tools/call', params }
  const stream = await session.open(request)
  step('The client calls analyze_data.', request)
  const question = await stream.next()
  step('On the stream of request 7, and on no other, the server asks.', question)
  const answer = { jsonrpc: '2.0', id: question['id'], result: ANSWER }
  await session.post(answer)
  step('The client answers.', answer)
  step('The stream ends with the response to request 7.', await stream.next())
  await session.end()
}
