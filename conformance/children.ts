/** Child processes that do not outlive this one, however it ends. */
import { type ChildProcess, fork, spawn } from 'node:child_process'

const alive = new Set<ChildProcess>()

/** A process with a channel to this one; what it writes to its standard error is shown. */
export function startProcess(file: string, env: Record<string, string>): ChildProcess {
  const child = fork(file, { env: { ...process.env, ...env }, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  return tracked(child)
}

export interface Finished {
  /** Undefined when it was stopped at its time limit. */
  readonly exitCode: number | undefined
  /** Standard output and standard error. */
  readonly output: string
}

/** Runs a program of JavaScript to its end, in a group with whatever it starts. */
export async function runProgram(file: string, args: readonly string[], timeLimitMs: number): Promise<Finished> {
  const child = tracked(spawn(process.execPath, [file, ...args], { stdio: ['ignore', 'pipe', 'pipe'], detached: true }))
  const chunks: Buffer[] = []
  for (const stream of [child.stdout, child.stderr]) stream?.on('data', (chunk: Buffer) => chunks.push(chunk))
  let isLate = false
  const timer = setTimeout(() => {
    isLate = true
    stop(child)
  }, timeLimitMs)
  const exitCode = await new Promise<number | undefined>((resolve) => {
    child.once('close', (code) => resolve(code ?? undefined))
    child.once('error', () => resolve(undefined))
  })
  clearTimeout(timer)
  const output = Buffer.concat(chunks).toString()
  return isLate ? { exitCode: undefined, output: `${output}\nstopped at its time limit` } : { exitCode, output }
}

function stopChildren(): void {
  for (const child of alive) stop(child)
}

function stop(child: ChildProcess): void {
  try {
    process.kill(-(child.pid as number), 'SIGKILL')
  } catch {
    child.kill('SIGKILL') // it heads no group
  }
}

function tracked<Child extends ChildProcess>(child: Child): Child {
  alive.add(child)
  child.once('exit', () => alive.delete(child))
  return child
}

process.once('exit', stopChildren)
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(1))
