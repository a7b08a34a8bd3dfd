/** A store with as many open questions as the bench says, and a server that lists them for one person each. */
import { createServer, type Principal } from 'pannier/server'
import { createTasks, type Lease } from 'pannier/tasks'
import { serveRequests } from '../ipc.ts'
import { readRole, type TaskRole } from '../role.ts'
import { KEY, QUESTION } from './answerLatency.ts'
import { newTask } from './engineStore.ts'
import { engineAt, openEngine } from './engines.ts'
import { loopInParallel } from './parallel.ts'
import { AUDIENCE, TOOL } from './store.ts'

const AT_ONCE = 8
const { location } = readRole<TaskRole>()
const { engine } = await openEngine(location)
const quiet = { debug() {}, info() {}, warn() {}, error() {} }
const server = createServer({
  name: AUDIENCE,
  version: '1',
  logger: quiet,
  principal: () => undefined,
  tasks: createTasks(engineAt(location).engine, { concurrency: 0 }),
  questions: true,
})

let by = ''
const asking = new Map<string, () => void>()

async function ask(lease: Lease): Promise<void> {
  const approvers = { by: [by], fourEyes: false }
  await lease.ask([{ key: KEY, request: QUESTION, question: undefined, times: 1, approvers }], undefined)
  asking.get(lease.id)?.()
  asking.delete(lease.id)
}

async function oneMore(): Promise<void> {
  const task = newTask()
  const asked = new Promise<void>((resolve) => void asking.set(task.id, resolve))
  await engine.create(task)
  await asked
}

engine.work({ tools: [TOOL], concurrency: AT_ONCE, run: ask })

const PEOPLE: Readonly<Record<string, Principal>> = {
  manager: { id: 'mia', claims: { role: 'manager' } },
  'one of all': { id: 'kim', subject: 'kim' },
}

/** Milliseconds for the first page of each person, and for the middle of the manager's list. */
async function measureLists(count: number): Promise<Record<string, number[]>> {
  const times: Record<string, number[]> = {}
  const list = async (name: string, person: string, cursor?: string): Promise<void> => {
    const startedAt = performance.now()
    const found = await server.questions.open({ for: PEOPLE[person]!, ...(cursor !== undefined && { cursor }) })
    ;(times[name] ??= []).push(performance.now() - startedAt)
    if (found.questions.length !== (person === 'manager' ? 100 : 1))
      throw new Error(`${name}: ${found.questions.length}`)
  }
  for (let at = 0; at < count; at++) {
    await list('of a manager', 'manager')
    await list('of a manager, in the middle', 'manager', middle)
    await list('of somebody with one', 'one of all')
  }
  return times
}

let middle = '0'
let asked = 0

async function fill({ count, addressee }: { count: number; addressee: string }): Promise<void> {
  by = addressee
  if (count === 1) await oneMore()
  else await loopInParallel({ count }, AT_ONCE, oneMore)
  asked += count
  middle = String(Math.floor(asked / 2))
}

serveRequests({ fill, measureLists })
