/** Tasks kept by an engine, used through the same interface as by the task service and the runner. */
import { randomUUID } from 'node:crypto'
import type { Lease, NewTask, TaskEngine } from 'pannier/tasks'
import { inParallel, loopInParallel } from './parallel.ts'
import {
  ARGS,
  CALLER,
  OWNER,
  RESULT,
  STEP,
  stepKey,
  type TaskSession,
  type TaskStore,
  TOOL,
  type WriteCounts,
} from './store.ts'

type Run = (lease: Lease) => Promise<void>

const MAX_RUNS = 64

export class EngineStore implements TaskStore {
  readonly #engine: TaskEngine
  readonly #runs = new Map<string, Run>()
  readonly writeCounts: () => Promise<WriteCounts>

  /** Starts a worker on an open engine. */
  constructor(engine: TaskEngine, written: () => Promise<WriteCounts>) {
    this.#engine = engine
    this.writeCounts = written
    engine.work({ tools: [TOOL], concurrency: MAX_RUNS, run: (lease) => this.#run(lease) })
  }

  async tasks(inFlight: number): Promise<TaskSession> {
    const last = new Map<number, string>()
    return {
      run: (limit) => loopInParallel(limit, inFlight, async (loop) => void last.set(loop, await this.#oneTask())),
      close: async () => {
        const records = await Promise.all(Array.from(last.values(), (id) => this.#engine.read(id, OWNER)))
        const areRight = records.every((task) => JSON.stringify(task?.result) === JSON.stringify(RESULT))
        return areRight ? undefined : 'A task that has ended has no result.'
      },
    }
  }

  async steps(inFlight: number): Promise<TaskSession> {
    const runs = await inParallel(inFlight, () => this.#startRun())
    return {
      run: (limit) => loopInParallel(limit, inFlight, async (loop) => runs[loop]?.step()),
      close: async () => {
        const found = await Promise.all(runs.map((run) => this.#stepsAfter(run)))
        const areThere = found.every((count, loop) => count === runs[loop]?.steps)
        return areThere ? undefined : 'A committed step is missing.'
      },
    }
  }

  async #oneTask(): Promise<string> {
    const task = newTask()
    const { promise: ended, resolve } = Promise.withResolvers<void>()
    this.#runs.set(task.id, async (lease) => {
      await lease.end({ status: 'completed', result: RESULT })
      resolve()
    })
    await this.#engine.create(task)
    await ended
    this.#runs.delete(task.id)
    return task.id
  }

  /** Starts a run that stays open until `leave` is called. */
  async #startRun(): Promise<StartedRun> {
    const task = newTask()
    const started = new Promise<StartedRun>((resolve) => {
      this.#runs.set(task.id, (lease) => new Promise((leave) => resolve(new StartedRun(lease, leave))))
    })
    await this.#engine.create(task)
    return started
  }

  /** The number of steps that the next run of a task finds. */
  async #stepsAfter({ lease, leave }: StartedRun): Promise<number> {
    const found = Promise.withResolvers<number>()
    this.#runs.set(lease.id, async (next) => {
      await next.end({ status: 'completed', result: RESULT })
      found.resolve(next.journal.steps.size)
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

class StartedRun {
  readonly lease: Lease
  readonly leave: () => void
  /** How many steps it has committed. */
  steps = 0

  constructor(lease: Lease, leave: () => void) {
    this.lease = lease
    this.leave = leave
  }

  step(): Promise<void> {
    return this.lease.step(stepKey(++this.steps), { value: STEP })
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
  return { id: randomUUID(), owner: OWNER, holder: OWNER, tool: TOOL, args: ARGS, caller: CALLER, journal, ttlMs: null }
}
