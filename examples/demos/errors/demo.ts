/** `npm run demo -- errors`: SEP-2322's guidance for error handling, to a call and to a task. */
import { join } from 'node:path'
import sep from '../../documents/sep2322.json' with { type: 'json' }
import { startInstances } from '../../work-items/fleet.ts'
import { headline, say } from '../../work-items/show.ts'
import { about, type Exchange, exchange, OWN, REASONS, ROUNDS, taskIdIn } from '../echo/messages.ts'
import { ENVELOPE, enveloped, type RequestMessage, send, SERVER_INFO } from '../modern.ts'
import { Session } from '../session.ts'
import { Transcript } from '../transcript.ts'

export async function errorsDemo(folder: string): Promise<void> {
  headline('SEP-2322, error handling: an answer that does not fit is asked for again')
  const [[weather], [echo]] = await Promise.all([
    startInstances(['A'], new URL('../weather/server.ts', import.meta.url)),
    startInstances(['A'], new URL('../echo/server.ts', import.meta.url), () => ({ TASKS: join(folder, 'tasks.db') })),
  ])
  await showCall(weather.url)
  await showTask(echo.url)
  say()
  say('Shown: a client always recovers, because the server says again what it needs, in a task under the same key.')
  say('Read next: docs/how-to/asking.md, and docs/reference/errors.md for what is an error.')
}

async function showCall(url: string): Promise<void> {
  say()
  headline('In the ephemeral workflow: an answer under a key that was not asked')
  const transcript = new Transcript({
    ...ENVELOPE,
    ...SERVER_INFO,
    'result.requestState': 'The document announces a state in its text, and prints none.',
    id: 'The document answers request 3 with id 2. An answer has the id of its request.',
  })
  const { request, answer } = sep.weatherWrongKey[0] as unknown as {
    request: RequestMessage
    answer: Exchange['answer']
  }
  const sent = enveloped(request, { elicitation: { form: {} } })
  transcript.request(sent, request)
  transcript.answer(await send(url, sent), answer)
  transcript.end()
}

async function showTask(url: string): Promise<void> {
  say()
  headline(
    'In the persistent workflow: step 7 with a parameter that was not asked for is acknowledged, and asked again',
  )
  const session = await Session.begin(url, ROUNDS)
  const transcript = new Transcript({ ...OWN, ...REASONS, id: 'The document goes back to its step 5; ids count up.' })
  const [create, status, result, ...answered] = sep.echo
  const taskId = taskIdIn(await exchange(session, transcript, create!))
  await exchange(session, transcript, about(taskId, status!))
  await exchange(session, transcript, about(taskId, result!))
  await exchange(session, transcript, about(taskId, sep.echoWrongField[0]!))
  let id = 5
  for (const printed of [result!, ...answered]) await exchange(session, transcript, about(taskId, printed), id++)
  transcript.end()
  await session.end()
}
