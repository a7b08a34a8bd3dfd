/** One process of a server, and what it says. */
import type { ChildProcess } from 'node:child_process'
import { getDefaultEnvironment } from '@modelcontextprotocol/client/stdio'
import { type CommandAddress, endGroup, failureReason, lineReader, startGroup } from '../../client/index.ts'
import { isObject, parseJson } from '../../protocol/index.ts'
import { ProbeError } from '../errors.ts'
import type { Notification, Request } from './messages.ts'
import { answerIn, askedIn, type Heard, MAX_ANSWER_BYTES, worded } from './reply.ts'
import { timeLimit } from './timeLimit.ts'
import type { Recorder } from './trace.ts'

interface StdioOptions {
  readonly address: CommandAddress
  readonly timeoutMs: number
  readonly recorder: Recorder
  readonly signal: AbortSignal | undefined
}

/** How long a process may take to go by itself, and then to go when it is told to. */
const GRACE_MS = 500
const LAST_LINES = 3

interface Waiting {
  readonly id: number
  readonly hear: (heard: Heard) => void
}

class StdioConnection {
  readonly unrelated: string[] = []
  strayLines = 0
  readonly #options: StdioOptions
  readonly #number: number
  #child: ChildProcess | undefined
  #waiting: Waiting | undefined
  #bytes = 0
  #lastWords: readonly string[] = []
  /** Why nothing can come any more. */
  #over: Heard | undefined
  #closed: Promise<void> | undefined

  constructor(options: StdioOptions) {
    this.#options = options
    this.#number = options.recorder.nextConnection()
  }

  /** Rejects where the program cannot be started: that is no fault of the server. */
  async start(): Promise<void> {
    const child = await startProgram(this.#options.address)
    this.#child = child
    for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.on('error', () => undefined)
    child.stdout?.on('data', this.#reader())
    child.stderr?.on('data', this.#complaints())
    // "close" comes when its output has been read to the end; others may hold the pipe, so "exit" counts as well.
    child.once('close', (code, signal) => this.#end(endedText(code, signal)))
    child.once('exit', (code, signal) => setTimeout(() => this.#end(endedText(code, signal)), GRACE_MS).unref())
  }

  async request(request: Request): Promise<Heard> {
    if (this.#over !== undefined) return this.#over
    const { timeoutMs, signal } = this.#options
    signal?.throwIfAborted()
    const limit = timeLimit(timeoutMs, signal)
    try {
      return await new Promise<Heard>((hear) => {
        this.#waiting = { id: request.id, hear }
        limit.signal.addEventListener('abort', () => hear({ kind: 'silent', waitedMs: timeoutMs }))
        this.#write(request)
      })
    } finally {
      this.#waiting = undefined
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
    this.#options.recorder.note('sent', this.#number, 'stdin', { text: line })
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
    const { recorder } = this.#options
    recorder.note('received', this.#number, 'stdout', { text: line })
    const message = parseJson(line)
    if (!isMessage(message)) {
      this.strayLines++
      return
    }
    const asked = askedIn(message)
    if (asked !== undefined) return this.#answer(asked, message)
    const answer = this.#waiting && answerIn(message, this.#waiting.id)
    if (answer !== undefined) this.#waiting?.hear(worded(answer, (text) => recorder.line(text)))
  }

  /** A server that waits for an answer would not go on. */
  #answer(method: string, message: object): void {
    if (this.#waiting === undefined) this.unrelated.push(method)
    const id = 'id' in message ? message.id : null
    const answer = method === 'ping' ? { result: {} } : { error: { code: -32601, message: 'Method not found' } }
    this.#write({ jsonrpc: '2.0', id, ...answer })
  }

  /** What comes beyond the limit is taken, so that the program can go on, and forgotten. */
  #complaints(): (chunk: Buffer) => void {
    const read = lineReader((line) => this.#complain(line), MAX_ANSWER_BYTES)
    let bytes = 0
    return (chunk) => {
      bytes += chunk.length
      if (bytes <= MAX_ANSWER_BYTES) read(chunk)
    }
  }

  #complain(line: string): void {
    this.#options.recorder.note('received', this.#number, 'stderr', { text: line })
    this.#lastWords = [...this.#lastWords, line].slice(-LAST_LINES)
  }

  #end(how: string): void {
    const lines = this.#lastWords.map((line) => this.#options.recorder.line(line))
    const words = lines.length === 0 ? '' : `; its last words: "${lines.join(' / ')}"`
    this.#settle({ kind: 'gone', wasThere: true, why: `its process ended with ${how}${words}` })
  }

  #settle(heard: Heard): void {
    this.#over ??= heard
    this.#waiting?.hear(this.#over)
  }
}

/** Logs may be JSON, too, and have an "error". */
function isMessage(value: unknown): value is object {
  return Array.isArray(value) || (isObject(value) && ('jsonrpc' in value || 'id' in value))
}

function endedText(code: number | null, signal: NodeJS.Signals | null): string {
  return signal ?? `exit code ${code}`
}

/** A server as a program: a connection is a process of its own, which is gone with everything it started when it ends. */

export class StdioWire {
  readonly transport = 'stdio'
  readonly #options: StdioOptions
  readonly #connections: StdioConnection[] = []

  constructor(options: StdioOptions) {
    this.#options = options
  }

  /** What the server asked for while it had no request of ours. */
  get unrelated(): readonly string[] {
    return this.#connections.flatMap(({ unrelated }) => unrelated)
  }

  /** Lines on the standard output that are no messages. */
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

/** Starts the program of a server. Where that cannot be done it is no fault of the server, and an error says why. */

async function startProgram(address: CommandAddress): Promise<ChildProcess> {
  const child = spawned(address)
  await new Promise<void>((resolve, reject) => {
    child.once('spawn', resolve)
    child.once('error', (error) => reject(refused(error)))
  })
  return child
}

/** A zero byte is refused at once, by an error that quotes what it stands in: that one is no cause to hand on. */
function spawned({ command, args, env, cwd }: CommandAddress): ChildProcess {
  try {
    return startGroup(command, args, { cwd, env: { ...getDefaultEnvironment(), ...env }, stdio: 'pipe' })
  } catch {
    throw notStarted('its command, folder or environment has a character that cannot be given to a program.')
  }
}

function refused(cause: Error): ProbeError {
  // The arguments, which may hold a secret.
  Reflect.deleteProperty(cause, 'spawnargs')
  return notStarted(failureReason(cause).why ?? 'the system refused.', { cause })
}

function notStarted(why: string, options?: ErrorOptions): ProbeError {
  return new ProbeError('PROBE_NOT_STARTED', `The server's program could not be started: ${why}`, options)
}
