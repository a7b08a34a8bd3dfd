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
  /** Its stdin and stdout are the measured pipe. @default false */
  pipes?: boolean
  nodeFlags?: string[]
}

/** A measured process, on its own core, that answers questions about itself. */
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

/** Nothing this bench started outlives it, however it ends. */
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
  const talk = listen(child, stderrTail(child))
  const { port } = await limit(talk.ready, STARTUP_MS, `${launch.file} did not start.`)
  return {
    port: port ?? 0,
    input: child.stdin,
    output: child.stdout,
    ask: (topic, detail) => limit(talk.ask(topic, detail), ANSWER_MS, `${launch.file} did not answer "${topic}".`),
    stop: () => stop(child),
  }
}

function commandLine(launch: Launch): string[] {
  return [process.execPath, '--expose-gc', ...(launch.nodeFlags ?? []), launch.file, ...launch.argv]
}

/** The end of what it wrote to stderr: its log is of interest only when it dies. */
function stderrTail(child: ChildProcess): () => string {
  let words = ''
  child.stderr?.setEncoding('utf8').on('data', (text: string) => {
    words = (words + text).slice(-2000)
  })
  return () => words
}

function listen(child: ChildProcess, words: () => string) {
  const waiting = new Map<number, Waiting>()
  const ready = Promise.withResolvers<{ port?: number }>()
  let asked = 0
  const fail = (error: Error): void => {
    ready.reject(error)
    for (const { reject } of waiting.values()) reject(error)
  }
  child.on('error', fail)
  child.on('exit', (code, signal) => fail(new Error(`A measured process ended (${signal ?? code}). ${words()}`)))
  child.on('message', (said: IpcMessage) => {
    if (said.ready !== undefined) return ready.resolve(said.ready)
    const question = waiting.get(said.id ?? -1)
    waiting.delete(said.id ?? -1)
    if (said.error === undefined) question?.resolve(said.answer as never)
    else question?.reject(new Error(said.error))
  })
  function ask<T>(topic: string, detail?: unknown): Promise<T> {
    const id = ++asked
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
