/**
 * `npm run demo`: one call of the tool in server.ts, with its messages printed. Three instances share a key ring; each
 * round goes to another one; the one that asked last is killed before the answer to its question is sent.
 */
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { newKey } from 'pannier/state'
import { howItEnded, type Instance, startInstance, stopAll } from './fleet.ts'
import { type Person, type Response, fixedAnswers, terminalPerson } from './person.ts'
import { note, event, headline, instanceName, say, showAnswer, showRequest } from './show.ts'
import { type AnswerMessage, type FormRequest, post, type RequestMessage, type Result, servedBy } from './wire.ts'
import { addBugs, WorkItems } from './workItems.ts'

const MAX_ROUNDS = 20
const REQUEST_MS = 10_000
const CALL = { name: 'update_work_item', arguments: { workItemId: 4522, fields: { 'System.State': 'Resolved' } } }

const DEMOS = {
  rounds: roundsDemo,
  tasks: async () => (await import('../demos/tasks.ts')).tasksDemo(newFolder()),
  shedding: async () => (await import('../demos/shedding.ts')).sheddingDemo(),
  gateway: async () => (await import('../demos/gateway.ts')).gatewayDemo(),
}
type DemoName = keyof typeof DEMOS

const USAGE =
  'Usage: npm run demo, or npm run demo -- --ask to answer the questions yourself, in a terminal. ' +
  `Demos: ${Object.keys(DEMOS).join(', ')}, as in npm run demo -- tasks.`

const { asking, name } = readArguments(process.argv.slice(2))
const terminal = process.stdin.isTTY && process.stdout.isTTY
let folder: string | undefined

process.on('exit', () => {
  stopAll()
  if (folder !== undefined) rmSync(folder, { recursive: true, force: true })
})
for (const [signal, code] of [
  ['SIGINT', 130],
  ['SIGTERM', 143],
  ['SIGHUP', 129],
] as const) {
  process.once(signal, () => stopped(code))
}
// A closed output, as in `npm run demo | head`, ends the demo without an error.
process.stdout.on('error', () => process.exit(0))

try {
  await DEMOS[name]()
  process.exit(0)
} catch (error) {
  console.error(`\nThe demo stopped: ${(error as Error).message}`)
  process.exit(1)
}

/** Which demo it is, and whether the person wants to answer. Any other argument ends the demo with its usage. */
function readArguments(args: readonly string[]): { asking: boolean; name: DemoName } {
  if (args.includes('--help') || args.includes('-h')) {
    console.log(USAGE)
    process.exit(0)
  }
  const named = args.filter((arg) => arg !== '--ask')
  const asking = named.length < args.length
  const name = named[0] ?? 'rounds'
  if (isDemo(name) && named.length < 2 && (name === 'rounds' || !asking)) return { asking, name }
  console.error(`The demo does not know ${isDemo(name) ? (named[1] ?? '--ask') : name}. ${USAGE}`)
  process.exit(2)
}

function isDemo(name: string): name is DemoName {
  return Object.hasOwn(DEMOS, name)
}

/** A folder that is removed when the demo ends. */
function newFolder(): string {
  folder = mkdtempSync(join(tmpdir(), 'pannier-demo-'))
  return folder
}

async function roundsDemo(): Promise<void> {
  headline('Pannier demo: one tool call, each round on another process, one process killed in between')
  note('Messages are shortened: each line is a member under its name on the wire; a sealed state is cut to its start.')
  const path = join(newFolder(), 'work-items.db')
  const items = new WorkItems(path, 'demo')
  addBugs(items)
  note('The work-item store holds Bug #4301 and Bug #4522; the call resolves the second.')

  const person = choosePerson()

  say()
  const fleet = await startFleet(path)
  const summary = await runCall(fleet, person)
  person.close()
  showItem(items)
  showSummary(summary)
}

async function startFleet(path: string): Promise<Instance[]> {
  const env = { PANNIER_KEYS: newKey(), WORK_ITEMS: path }
  const program = join(import.meta.dirname, 'instance.ts')
  const fleet = await Promise.all(['A', 'B', 'C'].map((name) => startInstance({ name, program, env })))
  say('Three instances share one key ring. None of them stores the state of a call:')
  for (const { name, url, child } of fleet) say(`  ${instanceName(name)}  ${url}  process ${child.pid}`)
  return fleet
}

function choosePerson(): Person {
  if (!asking) return fixedAnswers
  if (terminal) return terminalPerson({ input: process.stdin, output: process.stdout, onInterrupt: () => stopped(130) })
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
  if (!asking) say('Answer the questions yourself: npm run demo -- --ask')
  else if (!terminal) say('Answer the questions yourself, in a terminal: npm run demo -- --ask')
}

function stopped(code: number): never {
  console.error('\nStopped.')
  process.exit(code)
}
