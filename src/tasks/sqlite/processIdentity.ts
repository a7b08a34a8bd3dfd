/**
 * What tells a process from all others, so that another one of the same machine can see at once that it is gone.
 *
 * A mark proves an end and never a life: where it proves nothing, the worker's beat has to tell.
 */
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { randomUUID } from 'node:crypto'

export interface ProcessIdentity {
  /** The same for processes that mean the same by a process id. */
  readonly machine: string
  readonly pid: number
  /** When it started, in the machine's own count; empty where that cannot be known. */
  readonly started: string
}

export function identityOf(pid: number): ProcessIdentity {
  return { machine: machineName(), pid, started: statOf(pid)?.started ?? '' }
}

/** Whether the process is certainly over. */
export function hasExited({ machine, pid, started }: ProcessIdentity): boolean {
  if (machine !== machineName()) return false
  if (!exists(pid)) return true
  const stat = statOf(pid)
  // A zombie does nothing more; and where another process has the id by now, the one that had it is gone.
  return stat !== undefined && (stat.state === 'Z' || (started !== '' && stat.started !== started))
}

let machine: string | undefined

/** Containers of one machine may share a file, but not their process ids. */
function machineName(): string {
  machine ??= process.platform === 'linux' ? linuxName() : hostname()
  return machine
}

function linuxName(): string {
  try {
    const boot = readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()
    return `${hostname()} ${boot} ${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    return randomUUID()
  }
}

function exists(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH')
  }
}

/** State and start of a process, from /proc; the name before them may hold anything, so they are counted after it. */
function statOf(pid: number): { state: string; started: string } | undefined {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1')
    const fields = text.slice(text.lastIndexOf(')') + 2).split(' ')
    const [state, started] = [fields[0], fields[19]]
    return state !== undefined && started !== undefined ? { state, started } : undefined
  } catch {
    return undefined
  }
}
