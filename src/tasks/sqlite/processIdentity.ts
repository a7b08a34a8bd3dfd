/**
 * The identity of a process, by which another process of the same machine detects at once that it has exited.
 *
 * It can prove that a process has exited, never that it is alive; without proof the lease decides.
 */
import { readFileSync, readlinkSync } from 'node:fs'
import { hostname } from 'node:os'
import { randomUUID } from 'node:crypto'

export interface ProcessIdentity {
  /** Equal for processes that share a machine and a namespace of process ids. */
  readonly machine: string
  readonly pid: number
  /** The start time in clock ticks since boot; empty if unknown. */
  readonly started: string
}

export function identityOf(pid: number): ProcessIdentity {
  return { machine: machineName(), pid, started: statOf(pid)?.started ?? '' }
}

/** Whether the process has certainly exited. */
export function hasExited({ machine, pid, started }: ProcessIdentity): boolean {
  if (machine !== machineName()) return false
  if (!exists(pid)) return true
  const stat = statOf(pid)
  // A zombie counts as exited. A different start time means that the process id was reused.
  return stat !== undefined && (stat.state === 'Z' || (started !== '' && stat.started !== started))
}

let machine: string | undefined

/** Containers on one machine may share a file without sharing process ids, so the name includes the pid namespace. */
function machineName(): string {
  machine ??= process.platform === 'linux' ? linuxName() : hostname()
  return machine
}

function linuxName(): string {
  try {
    return `${hostname()} ${bootId()} ${readlinkSync('/proc/self/ns/pid')}`
  } catch {
    return randomUUID()
  }
}

/** The current boot of the machine; undefined if the system does not report it. */
export function bootId(): string | undefined {
  try {
    return readFileSync('/proc/sys/kernel/random/boot_id', 'latin1').trim()
  } catch {
    return undefined
  }
}

function exists(pid: number): boolean {
  try {
    return process.kill(pid, 0)
  } catch (error) {
    return !(error instanceof Error && 'code' in error && error.code === 'ESRCH')
  }
}

/** State and start time from /proc/PID/stat. The fields are counted from the last `)`: the name before may contain any character. */
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
