/**
 * `npm run demo`: one call of the tool in server.ts, with its messages printed. Three instances share a key ring; each
 * round goes to another one; the one that asked last is killed before the answer to its question is sent.
 */
import { join } from 'node:path'
import { newKey } from 'pannier/state'
import { howItEnded, type Instance, startInstance } from './fleet.ts'
import { type Person, type Response, fixedAnswers, terminalPerson } from './person.ts'
import { note, event, headline, instanceName, say, showAnswer, showRequest } from './show.ts'
import { type AnswerMessage, type FormRequest, post, type RequestMessage, type Result, servedBy } from './wire.ts'
import { addBugs, WorkItems } from './workItems.ts'

const MAX_ROUNDS = 20
const REQUEST_MS = 10_000
const CALL = { name: 'update_work_item', arguments: { workItemId: 4522, fields: { 'System.State': 'Resolved' } } }

export interface RoundsOptions {
  /** A folder for the work items. */
  readonly folder: string
  /** Whether the person at the terminal answers. */
  readonly asking: boolean
  readonly onInterrupt: () => void
}

const isTerminal = process.stdin.isTTY && process.stdout.isTTY

export async function roundsDemo({ folder, asking, onInterrupt }: RoundsOptions): Promise<void> {
  headline('Pannier demo: one tool call, each round on another process, one process killed in between')
  note('Messages are shortened: each line is a member under its name on the wire; a sealed state is cut to its start.')
  const path = join(folder, 'work-items.db')
  const items = new WorkItems(path, 'demo')
  addBugs(items)
  note('The work-item store holds Bug #4301 and Bug #4522; the call resolves the second.')

  const person = asking ? choosePerson(onInterrupt) : fixedAnswers

  say()
  const fleet = await startFleet(path)
  const summary = await runCall(fleet, person)
  person.close()
  showItem(items)
  showSummary(summary)
  if (!asking) say('Answer the questions yourself: npm run demo -- --ask')
  else if (!isTerminal) say('Answer the questions yourself, in a terminal: npm run demo -- --ask')
  say('All demos: npm run demo -- list')
}

async function startFleet(path: string): Promise<Instance[]> {
  const env = { PANNIER_KEYS: newKey(), WORK_ITEMS: path }
  const program = join(import.meta.dirname, 'instance.ts')
  const fleet = await Promise.all(['A', 'B', 'C'].map((name) => startInstance({ name, program, env })))
  say('Three instances share one key ring. None of them stores the state of a call:')
  for (const { name, url, child } of fleet) say(`  ${instanceName(name)}  ${url}  process ${child.pid}`)
  return fleet
}

function choosePerson(onInterrupt: () => void): Person {
  if (isTerminal) return terminalPerson({ input: process.stdin, output: process.stdout, onInterrupt })
  say('\n--ask needs a terminal and this is none, so the fixed answers are used. The demo answers itself.')
  return fixedAnswers
}

interface Summary {
  readonly rounds: number
  /** Which instance served each round, as its result says. */
  readonly servers: readonly string[]
  readonly killed: string | undefined
  readonly refused: boolean
}

// #region rounds
/** The client's side: collect answers and send the same call again with them. All state of the call is in `carried`. */
async function runCall(fleet: readonly Instance[], person: Person): Promise<Summary> {
  const servers: string[] = []
  let carried: { inputResponses?: Record<string, Response>; requestState?: string } = {}
  let killed: Instance | undefined
  let refused = false
  for (let round = 1; round <= MAX_ROUNDS; round++) {
    const instance = nextInstance(fleet, killed, servers.at(-1))
    const request = { jsonrpc: '2.0', id: round, method: 'tools/call', params: { ...CALL, ...carried } } as const
    const { result, server } = await playRound(instance, request)
    servers.push(server)
    if (result.resultType === 'complete') return { rounds: round, servers, killed: killed?.name, refused }

    if (killed === undefined && result.requestState !== undefined) killed = await kill(instance)
    const inputResponses = await answerAll(person, result.inputRequests ?? {}, carried.inputResponses)
    refused = Object.values(inputResponses).some(({ action }) => action !== 'accept')
    // A state counts for the next round only: a result without a state is followed by a request without one.
    carried = { inputResponses, ...(result.requestState !== undefined && { requestState: result.requestState }) }
  }
  throw new Error(`The call still asked for input after ${MAX_ROUNDS} rounds.`)
}
// #endregion rounds

/** The next running instance that did not serve the round before. */
function nextInstance(fleet: readonly Instance[], killed: Instance | undefined, last: string | undefined): Instance {
  const start = fleet.findIndex(({ name }) => name === last) + 1
  const candidates = [...fleet.slice(start), ...fleet.slice(0, start)]
  return candidates.find((instance) => instance !== killed && instance.name !== last) as Instance
}

async function playRound(instance: Instance, request: RequestMessage): Promise<{ result: Result; server: string }> {
  say()
  headline(`Round ${request.id}, sent to instance ${instance.name}`)
  showRequest(request)
  const answer = await ask(instance, request)
  // An error does not name its instance; it is the one that got the request.
  const server = servedBy(answer) ?? instance.name
  showAnswer(answer, server)
  if (answer.result === undefined) throw new Error('the call was answered with an error.')
  return { result: answer.result, server }
}

/** The error says how the instance ended when it does not answer. */
async function ask(instance: Instance, request: RequestMessage): Promise<AnswerMessage> {
  try {
    return await post(instance.url, request, AbortSignal.timeout(REQUEST_MS))
  } catch (error) {
    const soon = new Promise<undefined>((resolve) => setTimeout(resolve, 200))
    const exit = await Promise.race([instance.exited, soon])
    const why = exit === undefined ? (error as Error).message : howItEnded(exit, instance.errors())
    throw new Error(`Instance ${instance.name} did not answer: ${why}`, { cause: error })
  }
}

async function kill(instance: Instance): Promise<Instance> {
  await instance.end('SIGKILL')
  say()
  event(`Instance ${instance.name}, which asked this, is killed (SIGKILL) before anybody answers.`)
  return instance
}

async function answerAll(
  person: Person,
  requests: Readonly<Record<string, FormRequest>>,
  before: Readonly<Record<string, Response>> = {},
): Promise<Record<string, Response>> {
  const responses: Record<string, Response> = {}
  for (const [key, form] of Object.entries(requests)) {
    if (key in before) say(`\n  The server could not use the answer to "${key}" and asks again.`)
    responses[key] = await person.answer(key, form)
  }
  return responses
}

function showItem(items: WorkItems): void {
  const item = items.find(4522)
  say()
  headline('Bug #4522 in the work-item store, as all instances see it now')
  for (const [name, value] of Object.entries(item?.fields ?? {})) say(`  ${name}: ${value}`)
  if (item?.duplicateOf !== undefined) say(`  Duplicate of: #${item.duplicateOf}`)
  for (const { text, author } of item?.history ?? []) say(`  History: "${text}", by instance ${instanceName(author)}`)
}

function showSummary({ rounds, servers, killed, refused }: Summary): void {
  const row = servers.map((name) => instanceName(name)).join(', ')
  say()
  if (killed === undefined) {
    const why = refused ? 'You declined, which ended the call' : 'That answer ended the call'
    say(`Shown: a call of ${rounds} rounds on instances ${row}. ${why} before it had a state;`)
    say('choose "Duplicate" to see an instance killed and its question answered on another one.')
  } else {
    say(`Shown: a call of ${rounds} rounds on instances ${row}. ${killed} was killed and nothing was lost: the`)
    say('state of the call was sealed in its result and came back with the next request. Its step did not run again.')
  }
  say('Read next: examples/work-items/server.ts (the tool), then explicit.ts beside it (the same without ctx.ask).')
}
