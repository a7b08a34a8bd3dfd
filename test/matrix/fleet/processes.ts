/** Processes of the matrix: none outlives it, none is waited for without end, and orphans are found. */
import { type ChildProcess, spawn, type SpawnOptions } from 'node:child_process'
import { once } from 'node:events'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { createInterface } from 'node:readline'
import type { Readable } from 'node:stream'
import { setTimeout as sleep } from 'node:timers/promises'

const START_WITHIN_MS = 60_000
const LOOK_MS = 25

const running = new Set<ChildProcess>()
process.once('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

export function start(command: string, args: readonly string[], options: SpawnOptions): ChildProcess {
  const child = spawn(command, args, options)
  running.add(child)
  child.once('exit', () => running.delete(child))
  return child
}

export async function kill(child: ChildProcess): Promise<void> {
  if (child.exitCode !== null || child.signalCode !== null) return
  const gone = once(child, 'exit')
  child.kill('SIGKILL')
  await gone
}

/** With SIGTERM it ends by itself when it has done what it has to do. */
export type Signal = 'SIGKILL' | 'SIGTERM'

export function endProcess(pid: number, signal: Signal = 'SIGKILL'): void {
  try {
    process.kill(pid, signal)
  } catch {
    // it has ended
  }
}

/** Whether a process has ended within this time, and its parent has noticed: until then the process is listed. */
export async function hasEnded(pid: number, withinMs = 10_000): Promise<boolean> {
  for (const until = performance.now() + withinMs; existsSync(`/proc/${pid}`); await sleep(LOOK_MS))
    if (performance.now() > until) return false
  return true
}

/** Reads lines until one of them, or all so far, say what is looked for. What comes later is read and forgotten. */
export function readUntil<T>(output: Readable | null, look: (said: string) => T | undefined): Promise<T> {
  return new Promise((resolve, reject) => {
    let said = ''
    const fail = (): void => reject(new Error(`A process did not start:\n${said}`))
    const timer = setTimeout(fail, START_WITHIN_MS)
    if (output === null) return fail()
    const lines = createInterface(output)
    lines.on('line', (line) => {
      if (said.length < 100_000) said += `${line}\n`
      const found = look(said)
      if (found === undefined) return
      clearTimeout(timer)
      resolve(found)
    })
    lines.on('close', () => {
      clearTimeout(timer)
      fail()
    })
  })
}

export function childrenOf(pid: number): number[] {
  return readFileSync(`/proc/${pid}/task/${pid}/children`, 'utf8').trim().split(' ').map(Number)
}

/** Processes with this text in their environment that descend from none of these, but for these themselves. */
export function orphansOf(text: string, known: ReadonlySet<number>): number[] {
  return readdirSync('/proc')
    .filter((entry) => /^\d+$/.test(entry) && !known.has(Number(entry)))
    .filter((pid) => isOrphan(pid, text, known))
    .map(Number)
}

function isOrphan(pid: string, text: string, ancestors: ReadonlySet<number>): boolean {
  try {
    if (!readFileSync(`/proc/${pid}/environ`, 'utf8').includes(text)) return false
    // Some gateways start servers by a shell.
    for (let parent = parentOf(Number(pid)); parent > 1; parent = parentOf(parent))
      if (ancestors.has(parent)) return false
    return true
  } catch {
    return false // it has ended
  }
}

function parentOf(pid: number): number {
  return Number(readFileSync(`/proc/${pid}/stat`, 'utf8').split(') ')[1]?.split(' ')[1])
}
