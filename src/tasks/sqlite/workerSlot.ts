import type { WorkOptions } from '../engine.ts'

/** What one caller of `work` wants to run, and how much of it runs. */
export class WorkOrder {
  readonly run: WorkOptions['run']
  readonly #concurrency: number
  /** The tools' names, each as JSON. */
  readonly tools: Set<string>
  readonly #onIdle: (() => void)[] = []
  /** Tasks may be ready that there was no room for. */
  hasLeftSome = false
  #running = 0
  #isStopped = false

  constructor({ tools, concurrency, run }: WorkOptions) {
    this.run = run
    this.#concurrency = concurrency
    this.tools = new Set(tools.map((tool) => JSON.stringify(tool)))
  }

  /** How many more may run. */
  get room(): number {
    return this.#isStopped ? 0 : this.#concurrency - this.#running
  }

  serve(tool: string): void {
    this.tools.add(JSON.stringify(tool))
  }

  begin(): void {
    this.#running++
  }

  end(): void {
    this.#running--
    if (this.#running === 0) for (const tell of this.#onIdle.splice(0)) tell()
  }

  /** Resolves when nothing runs. */
  async stop(): Promise<void> {
    this.#isStopped = true
    if (this.#running > 0) await new Promise<void>((resolve) => this.#onIdle.push(resolve))
  }
}
