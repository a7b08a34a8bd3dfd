/** `npm run demo -- state`: SEP-1685, a state on the questions that a server pushes in the session era. */
import { join } from 'node:path'
import { DatabaseSync } from 'node:sqlite'
import sep from '../../documents/sep1685.json' with { type: 'json' }
import { type Instance, startInstances } from '../../work-items/fleet.ts'
import { event, headline, note, say } from '../../work-items/show.ts'
import type { Message } from '../session.ts'
import { Transcript } from '../transcript.ts'
import { CALL, PushedCall, resultText, ROUNDS } from './pushedCall.ts'

const PROGRAM = new URL('server.ts', import.meta.url)

const SEALED =
  'The document’s client sends the call again with each answer, so that its first question needs no state. A client of the ' +
  'session era does not: each question carries the whole call, sealed.'
const SHORT = 'The document leaves these out.'
const TYPED = 'SEP-2322 came later, and gives every result a type.'
const REASONS = { jsonrpc: SHORT, id: SHORT, state: SEALED, 'result.resultType': TYPED }

export async function stateDemo(folder: string): Promise<void> {
  headline('SEP-1685: a pushed question carries a state, and its answer may go to any instance')
  const [a, b] = await startInstances(['A', 'B'], PROGRAM)
  await showWorkItems(a, b)
  const [c, d] = await startInstances(['C', 'D'], PROGRAM)
  await showCutStream(c, d)
  await showPhases(folder)
  say()
  say('Shown: the work items of the document, a stream that is cut, and a migration from a store to none.')
  say('Read next: examples/demos/state/server.ts (the tool), and docs/explanation/eras.md.')
}

async function showWorkItems(first: Instance, second: Instance): Promise<void> {
  say()
  headline('The work items of the document: A asks, and B takes the first answer')
  const transcript = new Transcript(REASONS)
  const call = await PushedCall.begin(first.url)
  transcript.request(CALL, sep.call)
  for (const [index, { request, response }] of ROUNDS.entries()) {
    const question = await call.stream.next()
    transcript.answer(question, request)
    transcript.request(await call.answer((index === 0 ? second : first).url, question, response.result), response)
  }
  transcript.answer(await call.stream.next(), sep.answer)
  transcript.end()
  await call.session.end()
}

async function showCutStream(first: Instance, second: Instance): Promise<void> {
  say()
  headline(
    '"If the SSE connection dropped between rounds, reconnection and routing to a different server … would work"',
  )
  const call = await PushedCall.begin(first.url)
  const asked = await call.stream.next()
  await call.answer(first.url, asked, ROUNDS[0]!.response.result)
  const again = await call.stream.next()
  say('  C has asked both questions, and the client has the second one.')
  call.stream.cut()
  await first.end('SIGKILL')
  event('  The stream is cut, and instance C is killed (SIGKILL).')
  await call.answer(second.url, again, ROUNDS[1]!.response.result)
  await call.resume(second.url)
  say(`  D takes the answer, and continues the stream: ${resultText(await call.stream.next())}`)
}

interface Phase {
  readonly name: string
  readonly carry: string
  readonly hasStore: boolean
}

const PHASES: readonly Phase[] = [
  { name: 'before', carry: 'store', hasStore: true },
  { name: 'phase 1, dual mode', carry: 'both', hasStore: true },
  { name: 'phase 2, stateless primary', carry: 'client-first', hasStore: true },
  { name: 'phase 3, stateless only', carry: 'client', hasStore: true },
  { name: 'phase 4, cleanup', carry: 'client', hasStore: false },
]

/** What is lost between the last question and its answer. The rows go last, because all calls of a phase share the store. */
const LOSSES = ['nothing', 'state', 'rows'] as const

async function showPhases(folder: string): Promise<void> {
  say()
  headline('The migration path: one option of the server, changed from phase to phase')
  note(
    'Three calls in each phase: one as it is, one whose last answer brings no state, and one whose rows in the store are',
  )
  note('deleted before its last answer. The instance that asked is killed before all three.')
  showRow('phase', 'carry', 'store', ['the call', 'without its state', 'without its rows'])
  const played = await Promise.all(PHASES.map((phase, index) => playPhase(phase, join(folder, `${index}.db`))))
  for (const [index, { name, carry, hasStore }] of PHASES.entries())
    showRow(name, carry, hasStore ? 'there' : 'none', played[index]!)
}

function showRow(name: string, carry: string, store: string, [usual = '', ...lossy]: readonly string[]): void {
  const [withoutState = '', withoutRows = ''] = lossy
  const cells = [name.padEnd(27), carry.padEnd(13), store.padEnd(6), usual.padEnd(9), withoutState.padEnd(18)]
  say(`  ${cells.join(' ')} ${withoutRows}`)
}

/** What became of a call with each loss, in few words. */
async function playPhase({ carry, hasStore }: Phase, path: string): Promise<string[]> {
  const env = { CARRY: carry, ...(hasStore && { STORE: path }) }
  const [first, second] = await startInstances(['first', 'second'], PROGRAM, () => env)
  let reported = ''
  second.child.on('message', ({ difference }: { difference?: string }) => {
    if (difference !== undefined) reported = `, reported: ${difference}`
  })
  const asked = await Promise.all(LOSSES.map(() => askedTwice(first.url)))
  await first.end('SIGKILL')
  const outcomes: string[] = []
  for (const [index, loss] of LOSSES.entries()) {
    const { call, question } = asked[index]!
    const { state: _, ...withoutState } = question
    if (loss === 'rows' && hasStore) deleteRows(path)
    outcomes.push(await finish(call, second.url, loss === 'state' ? withoutState : question))
  }
  await second.end('SIGKILL')
  return outcomes.with(-1, `${outcomes.at(-1)}${reported}`) // only lost rows differ from what the client brings
}

/** A call that has got its second question, on a stream that is cut then. */
async function askedTwice(url: string): Promise<{ call: PushedCall; question: Message }> {
  const call = await PushedCall.begin(url)
  await call.answer(url, await call.stream.next(), ROUNDS[0]!.response.result)
  const question = await call.stream.next()
  call.stream.cut()
  return { call, question }
}

async function finish(call: PushedCall, url: string, question: Message): Promise<'done' | 'lost'> {
  try {
    await call.answer(url, question, ROUNDS[1]!.response.result)
    await call.resume(url)
    return resultText(await call.stream.next()) === sep.answer.result.content[0]!.text ? 'done' : 'lost'
  } catch {
    return 'lost'
  }
}

function deleteRows(path: string): void {
  const database = new DatabaseSync(path)
  database.exec('DELETE FROM tokens')
  database.close()
}
