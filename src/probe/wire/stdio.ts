/** A server that is a program. Each connection is a new process, which ends with everything that it started. */
import type { ChildProcess } from 'node:child_process'
import { getDefaultEnvironment } from '@modelcontextprotocol/client/stdio'
import { type CommandAddress, endGroup, failureReason, lineReader, startGroup } from '../../client/index.ts'
import { CODES, isObject, parseJson } from '../../protocol/index.ts'
import { ProbeError } from '../errors.ts'
import type { Notification, Request } from './messages.ts'
import { replyIn, serverRequestIn, type ProbeReply, MAX_ANSWER_BYTES, withPlainText } from './reply.ts'
import { timeLimit } from './timeLimit.ts'
import type { Tracer } from './trace.ts'

interface StdioWireOptions {
  readonly address: CommandAddress
  readonly timeoutMs: number
  readonly tracer: Tracer
  readonly signal: AbortSignal | undefined
}

export class StdioWire {
  readonly transport = 'stdio'
  readonly #options: StdioWireOptions
  readonly #connections: StdioConnection[] = []

  constructor(options: StdioWireOptions) {
    this.#options = options
  }

  /** How many requests were sent. */
  get requests(): number {
    return this.#connections.reduce((sum, { requests }) => sum + requests, 0)
  }

  /** The methods of requests that the server sent while none of ours was pending. */
  get unrelated(): readonly string[] {
    return this.#connections.flatMap(({ unrelated }) => unrelated)
  }

  /** How many lines on the standard output were no messages. */
  get strayLines(): number {
    return this.#connections.reduce((sum, { strayLines }) => sum + strayLines, 0)
  }

  /** Starts a process. */
  async connect(timeoutMs = this.#options.timeoutMs): Promise<StdioConnection> {
    this.#options.signal?.throwIfAborted()
    const connection = new StdioConnection({ ...this.#options, timeoutMs })
    this.#connections.push(connection)
    await connection.start()
    return connection
  }

  async close(): Promise<void> {
    await Promise.all(this.#connections.map((connection) => connection.close()))
  }
}

/** How long a process may take to end when its input is closed, and again after SIGTERM. */
const GRACE_MS = 500
const STDERR_LINES = 3

interface PendingRequest {
  readonly id: number
  readonly resolve: (reply: ProbeReply) => void
}

class StdioConnection {
  readonly unrelated: string[] = []
  requests = 0
  strayLines = 0
  readonly #options: StdioWireOptions
  readonly #number: number
  #child: ChildProcess | undefined
  #pending: PendingRequest | undefined
  #bytes = 0
  #stderrTail: readonly string[] = []
  /** The reply to every request once the process has ended or its output was cut off. */
  #finalReply: ProbeReply | undefined
  #closed: Promise<void> | undefined

  constructor(options: StdioWireOptions) {
    this.#options = options
    this.#number = options.tracer.nextConnection()
  }

  /** Rejects if the program cannot be started, which says nothing about the server. */
  async start(): Promise<void> {
    const child = await startProgram(this.#options.address)
    this.#child = child
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.on('error', () => undefined)
    child.stdout?.on('data', this.#reader())
    child.stderr?.on('data', this.#stderrReader())
    // "close" comes after all output was read. A child of the process may keep the pipe open, so "exit" counts as well.
    child.once('close', (code, signal) => this.#end(endedText(code, signal)))
    child.once('exit', (code, signal) => setTimeout(() => this.#end(endedText(code, signal)), GRACE_MS).unref())
  }

  async request(request: Request): Promise<ProbeReply> {
    if (this.#finalReply !== undefined) return this.#finalReply
    const { timeoutMs, signal } = this.#options
    signal?.throwIfAborted()
    const limit = timeLimit(timeoutMs, signal)
    try {
      return await new Promise<ProbeReply>((resolve) => {
        this.requests++
        this.#pending = { id: request.id, resolve }
        limit.signal.addEventListener('abort', () => resolve({ kind: 'timed-out', waitedMs: timeoutMs }))
        this.#write(request)
      })
    } finally {
      this.#pending = undefined
      limit.clear()
      signal?.throwIfAborted()
    }
  }

  notify(notification: Notification): void {
    this.#write(notification)
  }

  close(): Promise<void> {
    this.#closed ??= this.#child === undefined ? Promise.resolve() : endGroup(this.#child, GRACE_MS)
    return this.#closed
  }

  #write(message: object): void {
    const line = JSON.stringify(message)
    this.#options.tracer.note('sent', this.#number, 'stdin', { text: line })
    if (this.#child?.stdin?.writable) this.#child.stdin.write(`${line}\n`)
  }

  #reader(): (chunk: Buffer) => void {
    const read = lineReader((line) => this.#read(line), MAX_ANSWER_BYTES)
    return (chunk) => {
      this.#bytes += chunk.length
      if (this.#bytes <= MAX_ANSWER_BYTES) return read(chunk)
      this.#settle({ kind: 'unreadable', why: `it writes more than ${MAX_ANSWER_BYTES} bytes` })
      this.#child?.stdout?.destroy()
    }
  }

  #read(line: string): void {
    const { tracer } = this.#options
    tracer.note('received', this.#number, 'stdout', { text: line })
    const message = parseJson(line)
    if (!isMessage(message)) {
      this.strayLines++
      return
    }
    const method = serverRequestIn(message)
    if (method !== undefined) return this.#answer(method, message)
    const reply = this.#pending && replyIn(message, this.#pending.id)
    if (reply !== undefined) this.#pending?.resolve(withPlainText(reply, (text) => tracer.line(text)))
  }

  /** Requests of the server get an answer, because it may wait for one before it continues. */
  #answer(method: string, message: object): void {
    if (this.#pending === undefined) this.unrelated.push(method)
    const id = 'id' in message ? message.id : null
    const answer =
      method === 'ping' ? { result: {} } : { error: { code: CODES.METHOD_NOT_FOUND, message: 'Method not found' } }
    this.#write({ jsonrpc: '2.0', id, ...answer })
  }

  /** Output beyond the limit is read, so that the program does not block, and dropped. */
  #stderrReader(): (chunk: Buffer) => void {
    const read = lineReader((line) => this.#readStderr(line), MAX_ANSWER_BYTES)
    let bytes = 0
    return (chunk) => {
      bytes += chunk.length
      if (bytes <= MAX_ANSWER_BYTES) read(chunk)
    }
  }

  #readStderr(line: string): void {
    this.#options.tracer.note('received', this.#number, 'stderr', { text: line })
    this.#stderrTail = [...this.#stderrTail, line].slice(-STDERR_LINES)
  }

  #end(how: string): void {
    const lines = this.#stderrTail.map((line) => this.#options.tracer.line(line))
    const words = lines.length === 0 ? '' : `; its last output: "${lines.join(' / ')}"`
    this.#settle({ kind: 'disconnected', wasConnected: true, why: `its process ended with ${how}${words}` })
  }

  #settle(reply: ProbeReply): void {
    this.#finalReply ??= reply
    this.#pending?.resolve(this.#finalReply)
  }
}

/** Log lines may be JSON as well, and may have a member "error". */
function isMessage(value: unknown): value is object {
  return Array.isArray(value) || (isObject(value) && ('jsonrpc' in value || 'id' in value))
}

function endedText(code: number | null, signal: NodeJS.Signals | null): string {
  return signal ?? `exit code ${code}`
}

async function startProgram(address: CommandAddress): Promise<ChildProcess> {
  const child = spawned(address)
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve)
    child.once('error', (error) => reject(startFailure(error)))
  })
  return child
}

/** spawn() throws at once on a NUL character. Its error quotes the value, so it is not passed on as the cause. */
function spawned({ command, args, env, cwd }: CommandAddress): ChildProcess {
  try {
    return startGroup(command, args, { cwd, env: { ...getDefaultEnvironment(), ...env }, stdio: 'pipe' })
  } catch {
    throw notStarted('its command, folder or environment has a character that cannot be given to a program.')
  }
}

function startFailure(cause: Error): ProbeError {
  // These are the arguments, which may hold a secret.
  Reflect.deleteProperty(cause, 'spawnargs')
  return notStarted(failureReason(cause).why ?? 'the system refused.', { cause })
}

function notStarted(why: string, options?: ErrorOptions): ProbeError {
  return new ProbeError('PROBE_NOT_STARTED', `The server's program could not be started: ${why}`, options)
}
