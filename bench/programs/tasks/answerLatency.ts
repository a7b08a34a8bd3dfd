/** How long it takes from an answer until the run goes on with it, in this process or in another one that works. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Lease, TaskEngine, TaskRecord } from 'pannier/tasks'
import { newTask } from './engineStore.ts'
import { OWNER, TOOL } from './store.ts'

/** Milliseconds until the run is entered. */
export interface AnswerTime {
  sinceCalled: number
  /** Nothing when the run has begun before the answer's promise is resolved. */
  sinceReturned: number
}

const KEY = 'agree'
const QUESTION = {
  method: 'elicitation/create',
  params: { mode: 'form', message: 'Deploy?', requestedSchema: { type: 'object', properties: {} } },
} as const
const ANSWER = { action: 'accept', content: {} }
// Longer than any engine's look around, so that answers come at any moment of it.
const LONGEST_PAUSE_MS = 50

/** A worker whose tasks ask once, and end with the time when they were run again. */
export function workOnAnswers(engine: TaskEngine): void {
  engine.work({ tools: [TOOL], concurrency: 1, run: askOrEnd })
}

async function askOrEnd(lease: Lease): Promise<void> {
  const enteredAt = now()
  if (lease.journal.answers.has(KEY)) return lease.end({ status: 'completed', result: { enteredAt } })
  return lease.ask([{ key: KEY, request: QUESTION, question: undefined, times: 1 }], undefined)
}

export async function measureAnswers(engine: TaskEngine, count: number): Promise<AnswerTime[]> {
  const times: AnswerTime[] = []
  while (times.length < count) times.push(await timeOne(engine))
  return times
}

async function timeOne(engine: TaskEngine): Promise<AnswerTime> {
  const { id } = await engine.create(newTask())
  await waitForStatus(engine, id, 'input_required')
  await sleep(Math.random() * LONGEST_PAUSE_MS)
  const calledAt = now()
  await engine.answer(id, OWNER, { accepted: new Map([[KEY, ANSWER]]), refused: new Set() })
  const returnedAt = now()
  const { result } = await waitForStatus(engine, id, 'completed')
  const enteredAt = Number(result?.['enteredAt'])
  return { sinceCalled: enteredAt - calledAt, sinceReturned: Math.max(0, enteredAt - returnedAt) }
}

async function waitForStatus(engine: TaskEngine, id: string, status: TaskRecord['status']): Promise<TaskRecord> {
  let wake = () => {}
  const stop = engine.watch(id, () => wake())
  try {
    for (;;) {
      const changed = new Promise<void>((resolve) => void (wake = resolve))
      const task = await engine.read(id, OWNER)
      if (task?.status === status) return task
      await changed
    }
  } finally {
    stop()
  }
}

/** The same clock in all processes of a machine. */
function now(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
