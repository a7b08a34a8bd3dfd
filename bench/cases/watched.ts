import type { Noted } from '../measure/compare.ts'
import type { Child } from '../processes/child.ts'
import { coresBusyMs } from '../processes/coreBusy.ts'

/** Milliseconds of CPU time: the server's, ours, and what the two cores did altogether. */
interface Clocks {
  wall: number
  server: number
  load: number
  cores: number | undefined
}

/** Does the work, and notes how busy the cores were and with what. */
export async function watched<T>(child: Child, work: () => Promise<T>): Promise<T & Noted> {
  const before = await readClocks(child)
  const result = await work()
  const after = await readClocks(child)
  return { ...result, ...notes(before, after) }
}

function notes(before: Clocks, after: Clocks): Noted {
  const ms = after.wall - before.wall
  const serverMs = after.server - before.server
  const loadMs = after.load - before.load
  const noted = { serverMs, serverCpu: serverMs / ms, loadCpu: loadMs / ms }
  if (before.cores === undefined || after.cores === undefined) return noted
  return { ...noted, othersCpu: Math.max(0, (after.cores - before.cores - serverMs - loadMs) / ms) }
}

async function readClocks(child: Child): Promise<Clocks> {
  const server = await child.ask<number>('cpu')
  const { user, system } = process.cpuUsage()
  return { wall: performance.now(), server, load: (user + system) / 1000, cores: coresBusyMs() }
}
