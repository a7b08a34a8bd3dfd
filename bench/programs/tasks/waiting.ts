/** Tasks that wait for an answer, kept by SQLite's engine. */
import type { Lease } from 'pannier/tasks'
import { serveRequests } from '../ipc.ts'
import { readRole, type TaskRole } from '../role.ts'
import { KEY, QUESTION } from './answerLatency.ts'
import { newTask } from './engineStore.ts'
import { openEngine } from './engines.ts'
import { loopInParallel } from './parallel.ts'
import { TOOL } from './store.ts'

const AT_ONCE = 32
const { engine } = await openEngine(readRole<TaskRole>().location)
const asking = new Map<string, () => void>()

async function ask(lease: Lease): Promise<void> {
  await lease.ask([{ key: KEY, request: QUESTION, question: undefined, times: 1 }], undefined)
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
serveRequests({ wait: (count: number) => loopInParallel({ count }, AT_ONCE, oneMore) })
