/** `npm run demo -- upgrade`: SEP-2322's rolling upgrade. The old version of a tool begins a call, the new one ends it. */
import { startInstances } from '../../work-items/fleet.ts'
import { headline, note, say } from '../../work-items/show.ts'
import { accept, modernCall, textOf } from '../modernCall.ts'
import { step } from '../transcript.ts'

export async function upgradeDemo(): Promise<void> {
  headline('SEP-2322, use case 1, rolling upgrades: what the old version asked, the new one does not ask again')
  note('The document tells six steps in words. Its words are the headings; the messages are those of this run.')
  const program = new URL('server.ts', import.meta.url)
  const [old, next] = await startInstances(['old', 'new'], program, (name) => ({ VERSION: name === 'old' ? '1' : '2' }))
  const call = modernCall('find_accounts', {}, { elicitation: { form: {} } })

  const first = await call.round(old.url)
  step('1. Client sends tool call request that hits a server instance running the old version.', first.sent)
  step('2. Server sends back … the input requests for "github_login" and "google_login".', first.received)
  const second = await call.round(next.url, {
    github_login: accept({ name: 'octocat' }),
    google_login: accept({ name: 'octo.cat' }),
  })
  step('3. Client sends … the responses … This time it hits a server instance running the new version.', second.sent)
  step(
    '4. Server sends back … "microsoft_login" … request state containing the already-provided "github_login" response …',
    second.received,
  )
  const third = await call.round(next.url, { microsoft_login: accept({ name: 'cat@example.com' }) })
  step('5. Client sends … "microsoft_login" … as well as echoing back the request state …', third.sent)
  step('6. … the request now contains everything the server needs to perform the tool call …', third.received)

  say()
  say(`Shown: ${textOf(third.received)}. The old version asked for github_login.`)
  say('The new one got the answer, kept it in the state, and asked for microsoft_login alone.')
  say('Read next: examples/demos/upgrade/server.ts (both versions), and docs/how-to/asking.md.')
}
