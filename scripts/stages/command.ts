import { type ChildProcess, spawn } from 'node:child_process'
import { delimiter, join } from 'node:path'
import { root } from '../repository.ts'

export interface Finished {
  exitCode: number
  /** Standard output and standard error, in the order they came. */
  output: string
}

const timeLimitMs = 30 * 60_000
const running = new Set<ChildProcess>()

/** Runs a program of node_modules/.bin (or any other) in the repository, without input and without colours. */
export async function runCommand(
  command: readonly string[],
  more: Readonly<Record<string, string>> = {},
): Promise<Finished> {
  const [program = '', ...args] = command
  const env = { ...process.env, ...more, PATH: [join(root, 'node_modules/.bin'), process.env['PATH']].join(delimiter) }
  // Its own process group, so that what it started ends with it.
  const child = spawn(program, args, {
    cwd: root,
    env: { ...env, NO_COLOR: '1', FORCE_COLOR: undefined },
    stdio: ['ignore', 'pipe', 'pipe'],
    detached: true,
  })
  running.add(child)
  const chunks: Buffer[] = []
  child.stdout.on('data', (chunk: Buffer) => chunks.push(chunk))
  child.stderr.on('data', (chunk: Buffer) => chunks.push(chunk))
  const timer = setTimeout(() => {
    chunks.push(Buffer.from(`\nstopped: it took longer than ${timeLimitMs / 60_000} minutes\n`))
    stop(child)
  }, timeLimitMs)
  const exitCode = await new Promise<number>((resolve) => {
    child.once('close', (code) => resolve(code ?? 1))
    child.once('error', (error) => {
      chunks.push(Buffer.from(`${program} cannot be started: ${error.message}\n`))
      resolve(1)
    })
  })
  clearTimeout(timer)
  running.delete(child)
  return { exitCode, output: Buffer.concat(chunks).toString() }
}

/** Ends every command that still runs, with all its children. */
export function stopAll(): void {
  for (const child of running) stop(child)
}

function stop(child: ChildProcess): void {
  if (child.pid === undefined) return
  try {
    process.kill(-child.pid, 'SIGKILL')
  } catch {
    // It has ended by itself.
  }
}
