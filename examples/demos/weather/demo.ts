/** `npm run demo -- weather`: SEP-2322's ephemeral workflow, its two rounds on two processes. */
import { join } from 'node:path'
import sep from '../../documents/sep2322.json' with { type: 'json' }
import { startInstances } from '../../work-items/fleet.ts'
import { headline, note, say } from '../../work-items/show.ts'
import { addBugs, WorkItems } from '../../work-items/workItems.ts'
import { ENVELOPE, enveloped, type RequestMessage, send, SERVER_INFO } from '../modern.ts'
import { Transcript } from '../transcript.ts'

const STATE =
  'The document leaves the text of a state open. Here it is sealed, and bound to caller, tool, arguments and time.'
const REASONS = { ...ENVELOPE, ...SERVER_INFO, 'result.requestState': STATE, 'params.requestState': STATE }

export async function weatherDemo(folder: string): Promise<void> {
  headline('SEP-2322, the ephemeral workflow: a question is a result, and the call is sent again with the answer')
  const [a, b] = await startInstances(['A', 'B'], new URL('server.ts', import.meta.url))
  note('Instances A and B share a key and nothing else.')
  await show('get_weather asks for a GitHub login: messages 1 and 2 with A, 3 and 4 with B', sep.weather, [
    a.url,
    b.url,
  ])
  await showBoth(a.url, b.url)
  await showWorkItems(folder)
  say()
  say('Shown: the answer to each question reached another process than the one that asked, which kept nothing.')
  say('Read next: examples/demos/weather/server.ts (the tools), and docs/how-to/asking.md.')
}

interface Exchange {
  readonly request: object
  readonly answer: object
}

/** Plays the document's exchanges, each round with the next instance. */
async function show(title: string, exchanges: readonly Exchange[], urls: readonly string[]): Promise<void> {
  say()
  headline(title)
  const transcript = new Transcript(REASONS)
  let state: unknown
  for (const [index, { request, answer }] of exchanges.entries()) {
    const message = withState(request as RequestMessage, state)
    const sent = enveloped(message, { elicitation: { form: {} } })
    transcript.request(sent, request)
    const received = await send(urls[index % urls.length] as string, sent)
    transcript.answer(received, answer)
    state = received.result?.['requestState']
  }
  transcript.end()
}

/** The real-world example of the document. Its first question is not pinned (`pin: false`), so it has no state. */
async function showWorkItems(folder: string): Promise<void> {
  const path = join(folder, 'work-items.db')
  addBugs(new WorkItems(path, 'demo'))
  const program = new URL('../../work-items/instance.ts', import.meta.url)
  const fleet = await startInstances(['C', 'D', 'E'], program, () => ({ WORK_ITEMS: path }))
  const title = 'update_work_item asks twice, by two rules: each round with another instance'
  await show(
    title,
    sep.workItems,
    fleet.map(({ url }) => url),
  )
}

async function showBoth(first: string, second: string): Promise<void> {
  say()
  headline('introduce asks a person and a model in one round')
  note('The document prints the two maps alone, so they are compared without the messages around them.')
  const transcript = new Transcript({})
  const capabilities = { elicitation: { form: {} }, sampling: {} }
  const call = { jsonrpc: '2.0', method: 'tools/call', params: { name: 'introduce', arguments: {} } } as const
  const asked = await send(first, enveloped({ ...call, id: 1 }, capabilities))
  const { inputResponses, inputRequests } = sep
  transcript.answer({ inputRequests: asked.result?.['inputRequests'] }, { inputRequests })
  transcript.request({ inputResponses }, { inputResponses })
  const retry = withState(
    { ...call, id: 2, params: { ...call.params, inputResponses } },
    asked.result?.['requestState'],
  )
  transcript.aside(await send(second, enveloped(retry, capabilities)))
}

/** The request with the state of the answer before it, in place of the document's. */
function withState(request: RequestMessage, requestState: unknown): RequestMessage {
  return { ...request, params: { ...request.params, ...(requestState !== undefined && { requestState }) } }
}
