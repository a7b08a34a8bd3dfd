import { readFileSync } from 'node:fs'
import { LOAD_CORE, SERVER_CORE } from './affinity.ts'

/** A tick of /proc/stat, on every Linux that Node runs on. */
export const TICK_MS = 10

/** How long our two cores have been busy since the machine started, in milliseconds; undefined where /proc is not. */
export function coresBusyMs(): number | undefined {
  const lines = readStat()
  const server = busyMs(lines, SERVER_CORE)
  const load = busyMs(lines, LOAD_CORE)
  return server === undefined || load === undefined ? undefined : server + load
}

function busyMs(lines: string[] | undefined, core: number): number | undefined {
  const line = lines?.find((one) => one.startsWith(`cpu${core} `))
  if (line === undefined) return undefined
  const fields = line.split(/\s+/).slice(1).map(Number)
  const [user = 0, nice = 0, system = 0, , , irq = 0, softirq = 0, steal = 0] = fields
  return (user + nice + system + irq + softirq + steal) * TICK_MS
}

function readStat(): string[] | undefined {
  try {
    return readFileSync('/proc/stat', 'utf8').split('\n')
  } catch {
    return undefined
  }
}
