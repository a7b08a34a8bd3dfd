/**
 * A stdio transport: starts a server as a child process, and exchanges lines with it. The SDK's own stdio transport has
 * no way to filter lines, which `echo` needs, and ends only the process it started, and not the processes that one
 * started. This one also has `pid` and `stderr`, by which the SDK recognises stdio transports.
 */
import type { ChildProcess } from 'node:child_process'
import type { PassThrough, Readable } from 'node:stream'
import { type JSONRPCMessage, SdkError, SdkErrorCode, type Transport } from '@modelcontextprotocol/client'
import { isMessage, MAX_MESSAGE_BYTES, nodeModule } from '../../protocol/index.ts'
import type { CommandAddress } from '../config/address.ts'
import { ClientError } from '../errors.ts'
import { lineReader } from './lineReader.ts'
import { readPaced } from './pacedReading.ts'
import { endGroup, endMembers, startGroup } from './processGroup.ts'
import {
  mayBeMessage,
  MessageOverLimit,
  parseServerText,
  refusalOf,
  ServerUnreadable,
  tooLong,
  UnreadableRun,
} from './serverMessage.ts'

/** Gets each line in both directions, without its line end, and gives the line to use in its place. */
export interface LineFilter {
  incoming(line: string): string
  outgoing(line: string): string
}

/** How long to wait for the exit of a process that closed its input. */
const EXIT_WAIT_MS = 3000
/** How long the rest of the output may take after the exit. Processes that it started may hold the pipe for ever. */
const OUTPUT_WAIT_MS = 500

export class StdioTransport implements Transport {
  onclose?: () => void
  onerror?: (error: Error) => void
  onmessage?: (message: JSONRPCMessage) => void
  readonly stderr: Readable = new (nodeModule('node:stream').PassThrough)()
  readonly #address: CommandAddress
  readonly #filter: LineFilter
  readonly #maxBytes: number
  readonly #unreadable = new UnreadableRun()
  #child: ChildProcess | undefined
  #ended: string | undefined
  #exiting: Promise<void> | undefined
  #hasReported = false
  #isClosing = false
  #isClosed = false

  /** `maxBytes`: of a message of the server. */
  constructor(address: CommandAddress, filter: LineFilter, maxBytes = MAX_MESSAGE_BYTES) {
    this.#address = address
    this.#filter = filter
    this.#maxBytes = maxBytes
  }

  get pid(): number | null {
    return this.#child?.pid ?? null
  }

  /** How the process ended by itself, as the end of a sentence; undefined while it runs, and after `close`. */
  get ended(): string | undefined {
    return this.#ended
  }

  async start(): Promise<void> {
    const { command, args, env, cwd } = this.#address
    const { getDefaultEnvironment } = await import('@modelcontextprotocol/client/stdio')
    const child = startGroup(command, args, { cwd, env: { ...getDefaultEnvironment(), ...env }, stdio: 'pipe' })
    this.#child = child
    const readLines = lineReader(
      (line) => this.#read(line),
      this.#maxBytes,
      (edges) => this.#skip(edges),
    )
    child.stdout?.on('data', (chunk: Buffer) => readPaced(child.stdout ?? undefined, () => readLines(chunk)))
    child.stderr?.pipe(this.stderr as PassThrough)
    for (const stream of [child.stdin, child.stdout]) stream?.on('error', (error) => this.onerror?.(error))
    await new Promise<void>((resolve, reject) => {
      child.once('spawn', resolve)
      child.once('error', reject)
    })
    child.once('close', () => this.#finish())
    child.once('exit', (code, signal) => {
      if (!this.#isClosing) this.#ended = `its process ended with ${signal ?? `exit code ${code}`}.`
      setTimeout(() => this.#finish(), OUTPUT_WAIT_MS).unref()
    })
  }

  send(message: JSONRPCMessage): Promise<void> {
    const stdin = this.#child?.stdin
    if (!stdin?.writable) return Promise.reject(this.#notConnected())
    const line = this.#filter.outgoing(JSON.stringify(message))
    return new Promise((resolve, reject) => {
      stdin.write(`${line}\n`, (error) => (error ? this.#afterExit(() => reject(error)) : resolve()))
    })
  }

  async close(): Promise<void> {
    this.#isClosing = true
    if (this.#child !== undefined) await endGroup(this.#child)
    this.#finish()
  }

  #notConnected(): SdkError {
    const sentence = this.#ended === undefined ? 'The server has ended.' : `The server has ended: ${this.#ended}`
    return new SdkError(SdkErrorCode.NotConnected, sentence)
  }

  /** A process that closed its input is about to exit. Waits for that, so that errors can say how it ended. */
  #afterExit(then: () => void): void {
    this.#exiting ??= this.#exit()
    void this.#exiting.then(then)
  }

  async #exit(): Promise<void> {
    const child = this.#child
    if (child === undefined || child.exitCode !== null || child.signalCode !== null) return
    await new Promise<void>((resolve) => {
      child.once('exit', () => resolve())
      setTimeout(resolve, EXIT_WAIT_MS).unref()
    })
  }

  #read(line: string): void {
    const text = this.#filter.incoming(line)
    if (this.#unreadable.isOver) return
    if (!mayBeMessage(text)) return this.#passOver(text)
    const message = this.#messageIn(text)
    if (message !== undefined) this.onmessage?.(message)
  }

  /** A line that is too long to keep; only its beginning and its end are kept. */
  #skip(edges: string): void {
    if (this.#unreadable.isOver) return
    if (!mayBeMessage(edges)) return this.#passOver(edges)
    const error = tooLong(this.#maxBytes, edges)
    this.#skipped(error)
    const refusal = this.#refuse(error)
    if (refusal !== undefined) this.onmessage?.(refusal)
  }

  /** Programs also print other lines to standard output. The first one after a message that looks like JSON is reported. */
  #passOver(line: string): void {
    if (this.#hasReported || !line.startsWith('{')) return
    this.#hasReported = true
    this.onerror?.(noMessage())
  }

  #messageIn(text: string): JSONRPCMessage | undefined {
    try {
      const value = parseServerText(text, this.#maxBytes)
      if (!isMessage(value)) throw noMessage()
      this.#unreadable.end()
      this.#hasReported = false
      return value as JSONRPCMessage
    } catch (error) {
      this.#skipped(error as Error)
      return error instanceof MessageOverLimit ? this.#refuse(error) : undefined
    }
  }

  #skipped(error: Error): void {
    this.onerror?.(error)
    if (!this.#unreadable.add()) return
    this.onerror?.(new ServerUnreadable())
    void this.close()
  }

  /** Returns the message to deliver in place of a response. A request of the server gets an error instead. */
  #refuse(error: MessageOverLimit): JSONRPCMessage | undefined {
    const refusal = refusalOf(error)
    if (error.method === undefined) return refusal
    if (refusal !== undefined) this.send(refusal).catch(() => {}) // an ended server needs no close
    return undefined
  }

  #finish(): void {
    if (this.#isClosed) return
    this.#isClosed = true
    // Processes that it had started may still run.
    if (!this.#isClosing && this.#child !== undefined) void endMembers(this.#child)
    this.onclose?.()
  }
}

function noMessage(): ClientError {
  return new ClientError('MESSAGE_UNREADABLE', 'A line is no MCP message.')
}
