import type { Limit } from '../load/load.ts'
import type { Sample } from '../measure/compare.ts'
import type { Child } from '../processes/child.ts'
import { coresBusyMs } from '../processes/coreBusy.ts'
import type { Load } from './loads.ts'

/** Milliseconds of CPU time: the server's, ours, and what the two cores did altogether. */
interface Clocks {
  wall: number
  server: number
  load: number
  cores: number | undefined
}

/** A load, with a note of how busy the cores were and with what. */
export async function watched(child: Child, load: Load, limit: Limit): Promise<Sample> {
  const before = await readClocks(child)
  const outcome = await load(child, limit)
  const after = await readClocks(child)
  const ms = after.wall - before.wall
  const serverMs = after.server - before.server
  const loadMs = after.load - before.load
  const noted = { ...outcome, serverMs, serverCpu: serverMs / ms, loadCpu: loadMs / ms }
  if (before.cores === undefined || after.cores === undefined) return noted
  return { ...noted, othersCpu: Math.max(0, (after.cores - before.cores - serverMs - loadMs) / ms) }
}

async function readClocks(child: Child): Promise<Clocks> {
  const server = await child.ask<number>('cpu')
  const { user, system } = process.cpuUsage()
  return { wall: performance.now(), server, load: (user + system) / 1000, cores: coresBusyMs() }
}
