/** Child processes that do not outlive this one, however it ends. */
import { type ChildProcess, execFile, fork } from 'node:child_process'

const alive = new Set<ChildProcess>()

/** A process with a channel to this one; what it writes to its standard error is shown. */
export function startProcess(file: string, env: Record<string, string>): ChildProcess {
  const child = fork(file, { env: { ...process.env, ...env }, stdio: ['ignore', 'ignore', 'inherit', 'ipc'] })
  return tracked(child)
}

/** Runs a program of JavaScript to its end and gives what it wrote, also when it failed. */
export function runProgram(file: string, args: readonly string[], timeLimitMs: number): Promise<string> {
  return new Promise((resolve) => {
    const child = execFile(
      process.execPath,
      [file, ...args],
      { timeout: timeLimitMs, maxBuffer: Number.POSITIVE_INFINITY },
      (error, stdout, stderr) =>
        resolve(error?.killed ? `${stdout}${stderr}\nstopped at its time limit` : stdout + stderr),
    )
    tracked(child)
  })
}

export function stopChildren(): void {
  for (const child of alive) child.kill('SIGKILL')
}

function tracked(child: ChildProcess): ChildProcess {
  alive.add(child)
  child.once('exit', () => alive.delete(child))
  return child
}

process.once('exit', stopChildren)
for (const signal of ['SIGINT', 'SIGTERM', 'SIGHUP'] as const) process.once(signal, () => process.exit(1))
