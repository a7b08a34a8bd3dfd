/**
 * A share of a core for a process, by a control group of Linux: no more than that, and before all other processes, so that it
 * has no less either. It needs the rights of root.
 */
import { existsSync, mkdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'

const PERIOD_US = 10_000
/** The first version of control groups, and the second. */
const FIRST = '/sys/fs/cgroup/cpu'
const SECOND = '/sys/fs/cgroup'
const ENDED_WITHIN_MS = 10_000

/** Gives the function that removes the group when the process has ended; undefined where there are no such groups. */
export function limitCpu(pid: number, share: number): (() => Promise<void>) | undefined {
  const isFirst = existsSync(`${FIRST}/cpu.cfs_quota_us`)
  const group = `${isFirst ? FIRST : SECOND}/pannier-bench-${pid}`
  const quotaUs = Math.round(share * PERIOD_US)
  const settings = isFirst
    ? { 'cpu.cfs_period_us': PERIOD_US, 'cpu.cfs_quota_us': quotaUs, 'cpu.shares': 262_144 }
    : { 'cpu.max': `${quotaUs} ${PERIOD_US}`, 'cpu.weight': 10_000 }
  try {
    mkdirSync(group)
    for (const [name, value] of Object.entries(settings)) writeFileSync(`${group}/${name}`, String(value))
    writeFileSync(`${group}/cgroup.procs`, String(pid))
  } catch {
    isRemoved(group)
    return undefined
  }
  return () => removeLater(group)
}

async function removeLater(group: string): Promise<void> {
  const until = performance.now() + ENDED_WITHIN_MS
  while (!isRemoved(group) && performance.now() < until) await sleep(100)
}

function isRemoved(group: string): boolean {
  try {
    rmdirSync(group)
    return true
  } catch {
    return !existsSync(group)
  }
}
