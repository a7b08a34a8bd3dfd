/** The time from an answer until a worker, in this process or in another one, continues the run. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Lease, TaskEngine, TaskRecord } from 'pannier/tasks'
import { newTask } from './engineStore.ts'
import { OWNER, TOOL } from './store.ts'

/** Milliseconds until the run starts again. */
export interface AnswerTime {
  sinceCalled: number
  /** 0 when the run starts before the promise of `answer` is resolved. */
  sinceReturned: number
}

export const KEY = 'agree'
export const QUESTION = {
  method: 'elicitation/create',
  params: { mode: 'form', message: 'Deploy?', requestedSchema: { type: 'object', properties: {} } },
} as const
const ANSWER = { action: 'accept', content: {} }
// Longer than the poll interval of any engine, so that answers come at any moment of it.
const LONGEST_PAUSE_MS = 50

/** A worker whose tasks ask a question once, and end with the time at which they ran again. */
export function workOnAnswers(engine: TaskEngine): void {
  engine.work({ tools: [TOOL], concurrency: 1, run: askOrEnd })
}

async function askOrEnd(lease: Lease): Promise<void> {
  const startedAt = now()
  if (lease.journal.answers.has(KEY)) return lease.end({ status: 'completed', result: { startedAt } })
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
  const startedAt = Number(result?.['startedAt'])
  return { sinceCalled: startedAt - calledAt, sinceReturned: Math.max(0, startedAt - returnedAt) }
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

/** A clock that all processes of a machine share. */
function now(): number {
  return Number(process.hrtime.bigint()) / 1e6
}
