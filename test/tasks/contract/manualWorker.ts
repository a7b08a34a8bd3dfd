import type { Lease, TaskEngine, Working } from '../../../src/tasks/engine.ts'

/** A worker that does nothing by itself: the test asks for the next lease and uses it. */
export class ManualWorker {
  readonly #working: Working
  readonly #leases: Lease[] = []
  readonly #waiting: ((lease: Lease) => void)[] = []
  readonly #finish = new Set<() => void>()

  constructor(engine: TaskEngine, tools: readonly string[], concurrency: number) {
    this.#working = engine.work({ tools, concurrency, run: (lease) => this.#run(lease) })
  }

  /** How many leases were given and not asked for. */
  get unclaimed(): number {
    return this.#leases.length
  }

  /** The next lease, as soon as there is one. */
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

  /** Stops, and returns from every run as if its lease had ended. */
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

/** The same lease; its run is over when one of its ends is. */
function endingRun(lease: Lease, finish: () => void): Lease {
  return {
    id: lease.id,
    tool: lease.tool,
    args: lease.args,
    caller: lease.caller,
    journal: lease.journal,
    signal: lease.signal,
    step: (key, result) => lease.step(key, result),
    claim: (key) => lease.claim(key),
    unclaim: (key) => lease.unclaim(key),
    note: (statusMessage) => lease.note(statusMessage),
    ask: (questions, own) => lease.ask(questions, own).then(finish),
    end: (end) => lease.end(end).then(finish),
    giveBack: () => lease.giveBack().then(finish),
  }
}
