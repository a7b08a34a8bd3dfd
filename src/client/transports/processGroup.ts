/** A child process and whatever it starts, as one thing to end. */
import { type ChildProcess, spawn, type SpawnOptions, spawnSync } from 'node:child_process'

const windows = process.platform === 'win32'
const running = new Set<ChildProcess>()

/** Starts a program as the head of a process group of its own. A key pressed in our terminal does not reach it. */
export function startGroup(command: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  const child = spawn(command, args, { ...options, detached: !windows, windowsHide: true })
  if (running.size === 0) process.once('exit', killAll)
  running.add(child)
  child.once('error', () => forget(child))
  return child
}

/**
 * Ends a group: first its head is asked by the end of its input, then all of it by SIGTERM, then by SIGKILL.
 * Comes back when the head has exited and nothing of the group is left.
 */
export async function endGroup(child: ChildProcess, graceMs = 2_000): Promise<void> {
  child.stdin?.end()
  await settled(() => hasExited(child), graceMs)
  signalGroup(child, 'SIGTERM')
  await settled(() => isGone(child), graceMs)
  signalGroup(child, 'SIGKILL')
  await settled(() => isGone(child), graceMs)
  forget(child)
  // A program that left the group may still hold our pipes; they must not keep this process alive.
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy()
}

function hasExited({ pid, exitCode, signalCode }: ChildProcess): boolean {
  return pid === undefined || exitCode !== null || signalCode !== null
}

function isGone(child: ChildProcess): boolean {
  return hasExited(child) && !signalGroup(child, 0)
}

/** Signals every process of the group. False when there is none left. */
function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals | 0): boolean {
  if (pid === undefined) return false
  if (windows) return signal === 'SIGKILL' && spawnSync('taskkill', ['/pid', String(pid), '/T', '/F']).status === 0
  try {
    return process.kill(-pid, signal)
  } catch {
    return false
  }
}

/** Looks again and again, soon at first; gives up after a time. */
async function settled(condition: () => boolean, limitMs: number): Promise<void> {
  const deadline = performance.now() + limitMs
  for (let pauseMs = 1; !condition() && performance.now() < deadline; pauseMs = Math.min(pauseMs * 2, 50)) {
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}

function forget(child: ChildProcess): void {
  running.delete(child)
  if (running.size === 0) process.removeListener('exit', killAll)
}

/** The last moment of this process: nothing can be awaited any more. */
function killAll(): void {
  for (const child of running) signalGroup(child, 'SIGKILL')
}
