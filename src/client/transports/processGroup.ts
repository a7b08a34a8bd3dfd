/** Starts and ends child processes as process groups, so that the processes they start are ended, too. */
import type { ChildProcess, SpawnOptions } from 'node:child_process'
import type { Writable } from 'node:stream'
import { host, nodeModule } from '../../protocol/index.ts'

const isWindows = host?.platform === 'win32'
const running = new Set<ChildProcess>()
let isGuarded = false
let guard: GroupGuard | undefined

/** From now on a guard ends the groups of this process a few seconds after the process was killed. */
export function guardGroups(): void {
  isGuarded = true
}

/** Starts a program as the leader of a new process group. Ctrl-C in the terminal does not signal that group. */
export function startGroup(command: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  const child = nodeModule('node:child_process').spawn(command, args, {
    ...options,
    detached: !isWindows,
    windowsHide: true,
  })
  if (running.size === 0) process.once('exit', killAll)
  running.add(child)
  if (isGuarded) protect(child)
  child.once('error', () => forget(child))
  // The number of an empty group may soon be used for another group.
  child.once('exit', () => {
    if (!signalGroup(child, 0)) forget(child)
  })
  return child
}

/**
 * Ends a group: closes the leader's input, then sends SIGTERM to the group, then SIGKILL, with `graceMs` for each.
 * Resolves when the leader has exited and no process of the group is left.
 */
export async function endGroup(child: ChildProcess, graceMs = 2_000): Promise<void> {
  child.stdin?.end()
  await waitFor(() => hasExited(child), graceMs)
  await endMembers(child, graceMs)
  // A process that left the group may still hold the pipes. They must not keep this process alive.
  for (const stream of [child.stdin, child.stdout, child.stderr]) stream?.destroy()
}

/** Kills the remaining processes of a group, such as the children of a leader that has exited. */
export async function endMembers(child: ChildProcess, graceMs = 2_000): Promise<void> {
  for (const signal of ['SIGTERM', 'SIGKILL'] as const) {
    if (!running.has(child)) return
    signalGroup(child, signal)
    await waitFor(() => hasGroupEnded(child), graceMs)
  }
  forget(child)
}

function hasExited({ pid, exitCode, signalCode }: ChildProcess): boolean {
  return pid === undefined || exitCode !== null || signalCode !== null
}

function hasGroupEnded(child: ChildProcess): boolean {
  return !running.has(child) || (hasExited(child) && !signalGroup(child, 0))
}

/** Sends a signal to every process of the group. False if none is left. */
function signalGroup({ pid }: ChildProcess, signal: NodeJS.Signals | 0): boolean {
  if (pid === undefined) return false
  if (isWindows) return signal === 'SIGKILL' && isTreeKilled(pid)
  try {
    return process.kill(-pid, signal)
  } catch {
    return false
  }
}

function isTreeKilled(pid: number): boolean {
  const { spawnSync } = nodeModule('node:child_process')
  return spawnSync('taskkill', ['/pid', String(pid), '/T', '/F']).status === 0
}

/** Polls until the condition holds or the time is over, with pauses that become longer. */
async function waitFor(condition: () => boolean, limitMs: number): Promise<void> {
  const deadline = performance.now() + limitMs
  for (let pauseMs = 1; !condition() && performance.now() < deadline; pauseMs = Math.min(pauseMs * 2, 50)) {
    await new Promise((resolve) => setTimeout(resolve, pauseMs))
  }
}

/** Puts a group under the guard. A guard that has ended, or could not be started, is replaced. */
function protect({ pid }: ChildProcess): void {
  const isNew = guard === undefined || guard.isLost
  if (isNew) guard = GroupGuard.start()
  const groups = isNew ? [...running].map((child) => child.pid) : [pid]
  for (const group of groups) if (group !== undefined) guard?.add(group)
}

function forget(child: ChildProcess): void {
  if (!running.delete(child)) return
  if (child.pid !== undefined) guard?.remove(child.pid)
  if (running.size === 0) process.removeListener('exit', killAll)
}

/** Runs when this process exits, so it must be synchronous. */
function killAll(): void {
  for (const child of running) signalGroup(child, 'SIGKILL')
}

const SCRIPT = `
groups=''
while read -r change group; do
  case $change in
    +) groups="$groups $group" ;;
    -) rest=''
      for each in $groups; do [ "$each" = "$group" ] || rest="$rest $each"; done
      groups=$rest ;;
  esac
done
left=''
for each in $groups; do kill -s 0 -- "-$each" 2>/dev/null && left="$left $each"; done
[ -n "$left" ] || exit 0
for signal in TERM KILL; do
  sleep 2
  for each in $left; do kill -s $signal -- "-$each" 2>/dev/null; done
done
`

/**
 * Ends process groups when this process is killed and cannot do it itself. Most servers end with their input, some do
 * not.
 *
 * The guard is a shell that reads which groups there are. Its input ends when this process does, however that ends. It
 * is in a session of its own, so that no signal of a terminal reaches it. Does not exist on Windows or without
 * `/bin/sh`.
 */
class GroupGuard {
  #input: Writable | undefined

  /** Undefined if this system has none. */
  static start(): GroupGuard | undefined {
    return isWindows ? undefined : new GroupGuard()
  }

  private constructor() {
    const { spawn } = nodeModule('node:child_process')
    const shell = spawn('/bin/sh', ['-c', SCRIPT], { detached: true, stdio: ['pipe', 'ignore', 'ignore'], env: {} })
    this.#input = shell.stdin
    const lose = (): void => void (this.#input = undefined)
    shell.once('error', lose)
    shell.once('exit', lose)
    shell.unref()
    // Undefined if this process may open no more files.
    const input: Writable | undefined = shell.stdin
    input?.on('error', lose)
    if (input instanceof nodeModule('node:net').Socket) input.unref()
  }

  /** Whether it has ended, or could not be started. */
  get isLost(): boolean {
    return this.#input === undefined
  }

  add(group: number): void {
    this.#input?.write(`+ ${group}\n`)
  }

  remove(group: number): void {
    this.#input?.write(`- ${group}\n`)
  }
}
