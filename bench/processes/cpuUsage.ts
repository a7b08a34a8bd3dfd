import type { Interference } from '../measure/interference.ts'
import { coresBusyMs } from './procfs.ts'

/** A process that says how much CPU time it has used. */
export interface CpuSource {
  ask(topic: 'cpu'): Promise<number>
}

/** CPU time so far, in milliseconds. */
interface Usage {
  wall: number
  /** Ours: the measured processes and the bench itself. */
  used: number
  /** Both cores, whoever used them. */
  cores: number | undefined
}

/** Does the work, and notes what others used of the cores meanwhile. */
export async function measureOthersCpu<T extends object>(
  children: readonly CpuSource[],
  work: () => Promise<T>,
): Promise<T & Interference> {
  const before = await readUsage(children)
  const result = await work()
  const after = await readUsage(children)
  if (before.cores === undefined || after.cores === undefined) return result
  const others = after.cores - before.cores - (after.used - before.used)
  return { ...result, othersCpu: Math.max(0, others / (after.wall - before.wall)) }
}

export function ownCpuMs(): number {
  const { user, system } = process.cpuUsage()
  return (user + system) / 1000
}

async function readUsage(children: readonly CpuSource[]): Promise<Usage> {
  const servers = await Promise.all(children.map((child) => child.ask('cpu')))
  const used = servers.reduce((sum, ms) => sum + ms, ownCpuMs())
  return { wall: performance.now(), used, cores: coresBusyMs() }
}
