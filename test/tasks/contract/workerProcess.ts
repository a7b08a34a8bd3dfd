/**
 * A worker in a process of its own, which tests kill and freeze. Its arguments are those of the store's `worker`, the
 * audience, and the engine's options as JSON. It runs `workerScript.ts` and prints each event as a line of JSON.
 */
import { type ChildProcess, spawn } from 'node:child_process'
import { once } from 'node:events'
import { createInterface } from 'node:readline'
import { setTimeout as wait } from 'node:timers/promises'
import type { EngineOptions } from '../../../src/tasks/engine.ts'
import type { EngineStore, ContractHarness } from './harness.ts'
import type { WorkerEvent } from './workerScript.ts'

type EventOf<Name extends WorkerEvent['event']> = Extract<WorkerEvent, { event: Name }>

export class WorkerProcess {
  /** Resolves when the process has ended. */
  readonly closed: Promise<unknown>
  readonly #child: ChildProcess
  readonly #store: EngineStore
  readonly #events: WorkerEvent[] = []
  #changed: () => void = () => {}
  #errors = ''

  constructor(harness: ContractHarness, options: EngineOptions) {
    const args = ['--conditions=pannier-source', ...harness.store.worker, harness.audience, JSON.stringify(options)]
    const child = spawn(process.execPath, args, { stdio: ['ignore', 'pipe', 'pipe'] })
    this.#child = child
    this.closed = once(child, 'close')
    this.#store = harness.store
    createInterface({ input: child.stdout }).on('line', (line) => this.#add(JSON.parse(line) as WorkerEvent))
    child.stderr.setEncoding('utf8').on('data', (text: string) => (this.#errors += text))
    child.once('close', () => this.#changed())
    harness.onTestEnd(() => this.kill())
  }

  /** Every event of this name that it has printed and no test has taken. */
  printed(name: WorkerEvent['event']): WorkerEvent[] {
    return this.#events.filter(({ event }) => event === name)
  }

  /** Takes the first event of this name; waits for it if necessary. */
  async event<Name extends WorkerEvent['event']>(name: Name): Promise<EventOf<Name>> {
    for (;;) {
      const change = new Promise<void>((resolve) => (this.#changed = resolve))
      const at = this.#events.findIndex(({ event }) => event === name)
      if (at >= 0) return this.#events.splice(at, 1)[0] as EventOf<Name>
      if (this.#isOver) throw new Error(`The worker ended before "${name}": ${this.#errors}`)
      await change
    }
  }

  /** Suspends the process, but not inside a write: nothing can release the lock of a frozen process. */
  async freeze(): Promise<void> {
    this.#child.kill('SIGSTOP')
    while (this.#store.isLocked?.() === true) {
      this.wake()
      await wait(10)
      this.#child.kill('SIGSTOP')
    }
  }

  wake(): void {
    this.#child.kill('SIGCONT')
  }

  async kill(): Promise<void> {
    if (this.#isOver) return
    this.#child.kill('SIGKILL')
    await this.closed
  }

  get #isOver(): boolean {
    return this.#child.exitCode !== null || this.#child.signalCode !== null
  }

  #add(event: WorkerEvent): void {
    this.#events.push(event)
    this.#changed()
  }
}
