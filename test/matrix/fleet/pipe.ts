/**
 * A gateway that one client starts for itself, on standard input and output: a transport for the clients of both SDKs. Each
 * message waits until the matrix lets it pass.
 */
import type { ChildProcess } from 'node:child_process'
import { createInterface } from 'node:readline'
import type { OnPassing, Passing } from './passing.ts'

type Message = object

export class Pipe {
  onmessage?: (message: never) => void
  onclose?: () => void
  onerror?: (error: Error) => void
  readonly #child: ChildProcess
  readonly #onPassing: OnPassing
  #last: Promise<void> = Promise.resolve()

  constructor(child: ChildProcess, onPassing: OnPassing) {
    this.#child = child
    this.#onPassing = onPassing
    child.stdin?.on('error', () => {}) // it has ended, and closes
    child.once('exit', () => void this.#last.then(() => this.onclose?.()))
  }

  /** By which the matrix knows it. */
  get target(): string {
    return String(this.#child.pid)
  }

  get isRunning(): boolean {
    return this.#child.exitCode === null && this.#child.signalCode === null
  }

  async start(): Promise<void> {
    if (this.#child.stdout === null) return
    createInterface(this.#child.stdout).on('line', (line) => {
      this.#last = this.#last.then(() => this.#receive(line))
    })
  }

  async send(message: Message): Promise<void> {
    const line = JSON.stringify(message)
    await this.#see('request', line)
    if (!this.isRunning) throw new Error('The connection was closed.')
    this.#child.stdin?.write(`${line}\n`)
  }

  /** As a client ends its server by the specification. */
  async close(): Promise<void> {
    this.#child.stdin?.end()
    this.onclose?.()
  }

  /** As where the client's process was killed. */
  drop(): void {
    this.#child.stdin?.destroy()
    this.#child.stdout?.destroy()
  }

  async #receive(line: string): Promise<void> {
    await this.#see('part', line)
    this.onmessage?.(JSON.parse(line) as never)
  }

  async #see(what: Passing['what'], body: string): Promise<void> {
    await this.#onPassing({ way: 'client ↔ gateway', target: this.target, what, body })
  }
}
