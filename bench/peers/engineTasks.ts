/** Tasks kept by an engine: what is loaded is its interface, as the desk and the runner use it. */
import { randomUUID } from 'node:crypto'
import type { Lease, NewTask, TaskEngine } from 'pannier/tasks'
import type { Sample } from '../measure/contender.ts'
import {
  ARGS,
  CALLER,
  inLanes,
  OWNER,
  RESULT,
  STEP,
  stepKey,
  type TaskLoad,
  type TaskStore,
  TOOL,
  type Written,
} from './taskStore.ts'
import { timed } from './timed.ts'

type Run = (lease: Lease) => Promise<void>

interface EnteredRun {
  readonly lease: Lease
  readonly leave: () => void
  /** How many it has made. */
  steps: number
}

const MOST_RUNS = 64

export class EngineTasks implements TaskStore {
  readonly #engine: TaskEngine
  readonly #runs = new Map<string, Run>()
  readonly written: () => Promise<Written>

  /** The engine is open, and works for this from here on. */
  constructor(engine: TaskEngine, written: () => Promise<Written>) {
    this.#engine = engine
    this.written = written
    engine.work({ tools: [TOOL], concurrency: MOST_RUNS, run: (lease) => this.#run(lease) })
  }

  async tasks({ limit, inFlight }: TaskLoad): Promise<Sample> {
    const last = new Map<number, string>()
    const sample = await timed(limit, (tally) =>
      inLanes(inFlight, async (lane) => {
        while (tally.running) {
          last.set(lane, await this.#oneTask())
          tally.right()
        }
      }),
    )
    const records = await Promise.all(Array.from(last.values(), (id) => this.#engine.read(id, OWNER)))
    const areRight = records.every((task) => JSON.stringify(task?.result) === JSON.stringify(RESULT))
    return areRight ? sample : { ...sample, wrong: 1, firstWrong: 'A task that had ended has no result.' }
  }

  async steps({ limit, inFlight }: TaskLoad): Promise<Sample> {
    const runs = await inLanes(inFlight, () => this.#enteredRun())
    const sample = await timed(limit, (tally) =>
      Promise.all(
        runs.map(async (run) => {
          while (tally.running) {
            await run.lease.step(stepKey(++run.steps), { value: STEP })
            tally.right()
          }
        }),
      ),
    )
    const found = await Promise.all(runs.map((run) => this.#stepsAfter(run)))
    const areThere = found.every((count, index) => count === runs[index]?.steps)
    return areThere ? sample : { ...sample, wrong: 1, firstWrong: 'A step that was committed is not there.' }
  }

  async #oneTask(): Promise<string> {
    const task = newTask()
    const { promise: over, resolve } = Promise.withResolvers<void>()
    this.#runs.set(task.id, async (lease) => {
      await lease.end({ status: 'completed', result: RESULT })
      resolve()
    })
    await this.#engine.create(task)
    await over
    this.#runs.delete(task.id)
    return task.id
  }

  /** A task whose run has begun, and goes on until it is left. */
  async #enteredRun(): Promise<EnteredRun> {
    const task = newTask()
    const left = Promise.withResolvers<void>()
    const begun = Promise.withResolvers<Lease>()
    this.#runs.set(task.id, (lease) => {
      begun.resolve(lease)
      return left.promise
    })
    await this.#engine.create(task)
    return { lease: await begun.promise, leave: left.resolve, steps: 0 }
  }

  /** How many steps the next run of a task finds. */
  async #stepsAfter({ lease, leave }: EnteredRun): Promise<number> {
    const found = Promise.withResolvers<number>()
    this.#runs.set(lease.id, async (next) => {
      found.resolve(next.journal.steps.size)
      await next.end({ status: 'completed', result: RESULT })
    })
    await lease.giveBack()
    leave()
    const count = await found.promise
    this.#runs.delete(lease.id)
    return count
  }

  async #run(lease: Lease): Promise<void> {
    await this.#runs.get(lease.id)?.(lease)
  }
}

export function newTask(): NewTask {
  const journal = {
    id: randomUUID(),
    round: 0,
    own: undefined,
    begunAt: undefined,
    answers: new Map(),
    steps: new Map(),
    open: new Map(),
  }
  return { id: randomUUID(), owner: OWNER, tool: TOOL, args: ARGS, caller: CALLER, journal, ttlMs: null }
}
