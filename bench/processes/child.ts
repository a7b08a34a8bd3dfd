import { type ChildProcess, spawn } from 'node:child_process'
import type { Readable, Writable } from 'node:stream'
import { onCore, SERVER_CORE } from './affinity.ts'

const STARTUP_MS = 20_000
const ANSWER_MS = 120_000

/** How a measured process is started. */
export interface Launch {
  file: string
  argv: string[]
  pinned: boolean
  /** @default the server's */
  core?: number
  /** Whether its stdin and stdout are pipes for load. @default false */
  pipes?: boolean
  nodeFlags?: string[]
}

/** A measured process on its own core. `ask` sends it a request over Node's IPC channel (`bench/programs/ipc.ts`). */
export interface Child {
  port: number
  input: Writable | null
  output: Readable | null
  ask<T>(topic: string, detail?: unknown): Promise<T>
  stop(): Promise<void>
}

interface IpcMessage {
  ready?: { port?: number }
  id?: number
  answer?: unknown
  error?: string
}

interface Waiting {
  resolve: (answer: never) => void
  reject: (error: Error) => void
}

const alive = new Set<ChildProcess>()

/** Kills all measured processes when the bench ends, also on a signal. */
export function killChildrenAtExit(): void {
  process.on('exit', () => {
    for (const child of alive) child.kill('SIGKILL')
  })
  for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.on(signal, () => process.exit(130))
}

export async function startChild(launch: Launch): Promise<Child> {
  const [command = '', ...args] = onCore(launch.core ?? SERVER_CORE, launch.pinned, commandLine(launch))
  const pipe = launch.pipes === true ? 'pipe' : 'ignore'
  const child = spawn(command, args, { stdio: [pipe, pipe, 'pipe', 'ipc'] })
  alive.add(child)
  child.once('exit', () => alive.delete(child))
  const channel = listen(child, stderrTail(child))
  const { port } = await limit(channel.ready, STARTUP_MS, `${launch.file} did not start.`)
  return {
    port: port ?? 0,
    input: child.stdin,
    output: child.stdout,
    ask: (topic, detail) => limit(channel.ask(topic, detail), ANSWER_MS, `${launch.file} did not answer "${topic}".`),
    stop: () => stop(child),
  }
}

function commandLine(launch: Launch): string[] {
  return [process.execPath, '--expose-gc', ...(launch.nodeFlags ?? []), launch.file, ...launch.argv]
}

/** The last characters that a process wrote to stderr, for the error when it ends unexpectedly. */
function stderrTail(child: ChildProcess): () => string {
  let tail = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    tail = (tail + text).slice(-2000)
  })
  return () => tail
}

function listen(child: ChildProcess, stderr: () => string) {
  const waiting = new Map<number, Waiting>()
  const ready = Promise.withResolvers<{ port?: number }>()
  let lastId = 0
  const fail = (error: Error): void => {
    ready.reject(error)
    for (const { reject } of waiting.values()) reject(error)
  }
  child.on('error', fail)
  child.on('exit', (code, signal) => fail(new Error(`A measured process ended (${signal ?? code}). ${stderr()}`)))
  child.on('message', (message: IpcMessage) => {
    if (message.ready !== undefined) return ready.resolve(message.ready)
    const request = waiting.get(message.id ?? -1)
    waiting.delete(message.id ?? -1)
    if (message.error === undefined) request?.resolve(message.answer as never)
    else request?.reject(new Error(message.error))
  })
  function ask<T>(topic: string, detail?: unknown): Promise<T> {
    const id = ++lastId
    return new Promise<T>((resolve, reject) => {
      waiting.set(id, { resolve, reject })
      child.send({ id, topic, detail }, (error) => error && reject(error))
    })
  }
  return { ready: ready.promise, ask }
}

function stop(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return Promise.resolve()
  return new Promise((resolve) => {
    child.once('exit', () => resolve())
    child.kill('SIGKILL')
  })
}

function limit<T>(work: Promise<T>, ms: number, message: string): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const late = new Promise<never>((_, reject) => {
    timer = setTimeout(() => reject(new Error(message)), ms)
  })
  return Promise.race([work, late]).finally(() => clearTimeout(timer))
}
