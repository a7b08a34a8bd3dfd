import type { Lease, TaskEngine, Working } from '../../../src/tasks/engine.ts'

/** A worker without a handler: the test takes each lease and uses it itself. */
export class ManualWorker {
  readonly #working: Working
  readonly #leases: Lease[] = []
  readonly #waiting: ((lease: Lease) => void)[] = []
  readonly #finish = new Set<() => void>()

  constructor(engine: TaskEngine, tools: readonly string[], concurrency: number) {
    this.#working = engine.work({ tools, concurrency, run: (lease) => this.#run(lease) })
  }

  /** The number of leases that the test has not taken yet. */
  get untaken(): number {
    return this.#leases.length
  }

  /** The next lease; waits for one if necessary. */
  nextLease(): Promise<Lease> {
    const lease = this.#leases.shift()
    return lease === undefined ? new Promise((resolve) => this.#waiting.push(resolve)) : Promise.resolve(lease)
  }

  serve(tool: string): void {
    this.#working.serve(tool)
  }

  stop(): Promise<void> {
    return this.#working.stop()
  }

  /** Stops, and returns from every run without ending its lease. */
  async abandonAll(): Promise<void> {
    const stopped = this.stop()
    for (const finish of this.#finish) finish()
    await stopped
  }

  #run(lease: Lease): Promise<void> {
    return new Promise((resolve) => {
      const finish = () => {
        this.#finish.delete(finish)
        resolve()
      }
      this.#finish.add(finish)
      lease.signal.addEventListener('abort', finish)
      this.#give(endingRun(lease, finish))
    })
  }

  #give(lease: Lease): void {
    const waiting = this.#waiting.shift()
    if (waiting === undefined) this.#leases.push(lease)
    else waiting(lease)
  }
}

/** The same lease; its run returns once the lease has ended. */
function endingRun(lease: Lease, finish: () => void): Lease {
  return {
    id: lease.id,
    tool: lease.tool,
    args: lease.args,
    caller: lease.caller,
    journal: lease.journal,
    signal: lease.signal,
    isOver: () => lease.isOver(),
    step: (key, result) => lease.step(key, result),
    claim: (key) => lease.claim(key),
    unclaim: (key) => lease.unclaim(key),
    note: (statusMessage, progress) => lease.note(statusMessage, progress),
    ask: (questions, own) => lease.ask(questions, own).then(finish),
    end: (end) => lease.end(end).then(finish),
    giveBack: () => lease.giveBack().then(finish),
  }
}
