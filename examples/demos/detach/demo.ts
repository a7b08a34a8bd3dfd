/** `npm run demo -- detach`: SEP-2322, a call that begins in the ephemeral workflow and goes over to the persistent one. */
import { join } from 'node:path'
import { startInstances } from '../../work-items/fleet.ts'
import { headline, note, say } from '../../work-items/show.ts'
import { type AnswerMessage, enveloped, type RequestMessage, send } from '../modern.ts'
import { accept, modernCall, textOf } from '../modernCall.ts'
import { step } from '../transcript.ts'

const CAPABILITIES = { elicitation: { form: {} }, extensions: { 'io.modelcontextprotocol/tasks': {} } }
const POLLS = 200

export async function detachDemo(folder: string): Promise<void> {
  headline('SEP-2322, ephemeral first, then persistent: nothing is stored before the question is answered')
  note('The document tells four steps in words. Its words are the headings; the messages are those of this run.')
  note('In 2026-07-28 a client declares tasks as an extension, in place of the task metadata of the document.')
  const [a, b] = await startInstances(['A', 'B'], new URL('server.ts', import.meta.url), () => ({
    TASKS: join(folder, 'tasks.db'),
  }))
  const call = modernCall('build', {}, CAPABILITIES)
  const first = await call.round(a.url)
  step('1. Client sends tool call request with task metadata.', first.sent)
  step('2. Server sends back inputRequests … This terminates the original request.', first.received)
  const second = await call.round(b.url, { branch: accept({ branch: 'old-idea' }) })
  step('3. Client sends a new tool call request … which includes the inputResponses …', second.sent)
  step('4. Server sends back a task ID …', second.received)
  const { request, answer } = await finished(a.url, String(second.received.result?.['taskId']))
  step('… All subsequent interaction will be done via the Tasks API.', request)
  step('The task has ended, and is kept for a week (ttlMs).', answer)
  say()
  say(
    `Shown: ${textOf({ result: answer.result?.['result'] as AnswerMessage })}. A answered the first round and kept nothing; the task`,
  )
  say(
    'exists since the second, in a file that both instances have. There is no way back: a task asks by its own methods.',
  )
  say('Read next: examples/demos/detach/server.ts (the tool), and docs/how-to/tasks.md.')
}

interface Polled {
  readonly request: RequestMessage
  readonly answer: AnswerMessage
}

/** Asks until the task has ended; gives the last request and its answer. */
async function finished(url: string, taskId: string): Promise<Polled> {
  const message = { jsonrpc: '2.0', id: 3, method: 'tasks/get', params: { taskId } } as const
  const request = enveloped(message, CAPABILITIES)
  for (let poll = 0; poll < POLLS; poll++) {
    const answer = await send(url, request)
    if (answer.result?.['status'] === 'completed') return { request, answer }
    await new Promise((resolve) => setTimeout(resolve, 50))
  }
  throw new Error('the task did not end.')
}
