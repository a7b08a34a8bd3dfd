/**
 * Talks to a child process by lines. The SDK's transport for this offers no seam at its lines, where `echo` must sit,
 * and ends only the process it started, not what that one started. To the SDK this is a stdio transport like its own:
 * it has `pid` and `stderr`.
 */
import type { ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { PassThrough, type Readable } from 'node:stream'
import {
  deserializeMessage,
  type JSONRPCMessage,
  SdkError,
  SdkErrorCode,
  type Transport,
} from '@modelcontextprotocol/client'
import { getDefaultEnvironment } from '@modelcontextprotocol/client/stdio'
import type { CommandAddress } from '../config/address.ts'
import { lineReader } from './lineReader.ts'
import { endGroup, startGroup } from './processGroup.ts'

/** Sees each line both ways, without its end, and may put another in its place. */
export interface LineFilter {
  incoming(line: string): string
  outgoing(line: string): string
}

/** How long a process that closed its end may take to exit. */
const LAST_MOMENT_MS = 100
/** How long the rest of the output may take once the process has exited; others may hold the pipe for ever. */
const LAST_WORDS_MS = 500

export class ChildTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage) => void
  readonly stderr: Readable = new PassThrough()
  readonly #address: CommandAddress
  readonly #seam: LineFilter
  #child: ChildProcess | undefined
  #ended: string | undefined
  #lastMoment: Promise<void> | undefined
  #isClosing = false
  #isClosed = false

  constructor(address: CommandAddress, seam: LineFilter) {
    this.#address = address
    this.#seam = seam
  }

  get pid(): number | null {
    return this.#child?.pid ?? null
  }

  /** How the process ended by itself; undefined while it runs, and when it was ended from here. */
  get ended(): string | undefined {
    return this.#ended
  }

  async start(): Promise<void> {
    const { command, args, env, cwd } = this.#address
    const child = startGroup(command, args, { cwd, env: { ...getDefaultEnvironment(), ...env }, stdio: 'pipe' })
    this.#child = child
    child.stdout?.on(
      'data',
      lineReader((line) => this.#read(line)),
    )
    child.stderr?.pipe(this.stderr as PassThrough)
    for (const stream of [child.stdin, child.stdout]) stream?.on('error', (error) => this.onerror?.(error))
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve)
      child.once('error', reject)
    })
    child.once('close', () => this.#finish())
    child.once('exit', (code, signal) => {
      if (!this.#isClosing) this.#ended = `its process ended with ${signal ?? `exit code ${code}`}.`
      setTimeout(() => this.#finish(), LAST_WORDS_MS).unref()
    })
  }

  send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin
    if (!stdin?.writable) return Promise.reject(this.#gone())
    const line = this.#seam.outgoing(JSON.stringify(message))
    return new Promise((resolve, reject) => {
      stdin.write(`${line}\n`, (error) => (error ? this.#afterLastMoment(() => reject(error)) : resolve()))
    })
  }

  async close(): Promise<void> {
    this.#isClosing = true
    if (this.#child !== undefined) await endGroup(this.#child)
    this.#finish()
  }

  #gone(): SdkError {
    const sentence = this.#ended === undefined ? 'The server has ended.' : `The server has ended: ${this.#ended}`
    return new SdkError(SdkErrorCode.NotConnected, sentence)
  }

  /** A process that hears nothing any more is about to end, and how it does is worth a moment. */
  #afterLastMoment(then: () => void): void {
    this.#lastMoment ??= this.#exit()
    void this.#lastMoment.then(then)
  }

  async #exit(): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    await once(child, 'exit', { signal: AbortSignal.timeout(LAST_MOMENT_MS) }).catch(() => undefined)
  }

  #read(line: string): void {
    const message = this.#messageIn(line)
    if (message !== undefined) this.onmessage?.(message)
  }

  #messageIn(line: string): JSONRPCMessage | undefined {
    try {
      return deserializeMessage(this.#seam.incoming(line))
    } catch (error) {
      // Programs print stray lines on their standard output; only JSON that is no message is worth a word.
      if (!(error instanceof SyntaxError)) this.onerror?.(error as Error)
      return undefined
    }
  }

  #finish(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    this.onclose?.()
  }
}
