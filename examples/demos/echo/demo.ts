/** `npm run demo -- echo`: SEP-2322's persistent workflow, the twelve messages of a task that asks. */
import { join } from 'node:path'
import sep from '../../documents/sep2322.json' with { type: 'json' }
import { startInstances } from '../../work-items/fleet.ts'
import { headline, note, say } from '../../work-items/show.ts'
import { Session } from '../session.ts'
import { Transcript } from '../transcript.ts'
import { about, exchange, OWN, REASONS, ROUNDS, taskIdIn } from './messages.ts'

export async function echoDemo(folder: string): Promise<void> {
  headline('SEP-2322, the persistent workflow: a task asks, and its client answers with a request of its own')
  const [a] = await startInstances(['A'], new URL('server.ts', import.meta.url), () => ({
    TASKS: join(folder, 'tasks.db'),
  }))
  note(
    'The client is one of revision 2025-11-25, whose tasks the document extends. It declares that it takes questions',
  )
  note('as results ("dev.pannier/rounds"), which no published revision has for tasks/result.')
  const session = await Session.begin(a.url, ROUNDS)
  const transcript = new Transcript({ ...OWN, ...REASONS })
  const [create, ...rest] = sep.echo
  const created = await exchange(session, transcript, create!)
  for (const printed of rest) await exchange(session, transcript, about(taskIdIn(created), printed))
  transcript.end()
  await session.end()
  say()
  say('Shown: twelve messages, as the document has them. The task was in a file while it waited, and in no process.')
  say('In 2026-07-28 the same task is asked by tasks/get and answered by tasks/update: npm run demo -- tasks.')
  say('Read next: examples/demos/echo/server.ts (the tool), and docs/how-to/tasks.md.')
}
