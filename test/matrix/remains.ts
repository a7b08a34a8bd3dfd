/** What gateways that were not killed still hold a minute after their last call: nothing but what they began with. */
import { setTimeout as sleep } from 'node:timers/promises'
import type { Fleet } from './fleet/fleet.ts'
import type { Vitals } from './fleet/vitals.ts'
import { type Tally, violate } from './tally.ts'

const WITHIN_MS = 60_000
const LOOK_MS = 1000
/** What a process that has worked for long may need more, such as compiled code. */
const MB_MORE = 8
const MB = 1024 * 1024

/** Compares what the gateways hold before and after, each time when they have come to rest. */
export async function remainsOf(
  fleet: Fleet,
  fresh: readonly Vitals[],
  tally: Tally,
  strikeAll: () => Promise<number>,
): Promise<void> {
  const before = await atRest(fleet, fresh, tally)
  const faults = await strikeAll()
  const after = await atRest(fleet, fresh, tally)
  const compared = after.flatMap(({ pid, heapUsed }) => {
    const heapBefore = before.find((each) => each.pid === pid)?.heapUsed
    return heapBefore === undefined ? [] : [{ heapMbBefore: round(heapBefore / MB), heapMb: round(heapUsed / MB) }]
  })
  for (const { heapMb, heapMbBefore } of compared)
    if (heapMb - heapMbBefore > MB_MORE)
      violate(tally, `${fleet.server}: a gateway needs ${round(heapMb - heapMbBefore)} MB more than before`)
  // The faults of a fleet are counted with the first of its gateways.
  tally.remains.push(
    ...compared.map((each, index) => ({ server: fleet.server, faults: index === 0 ? faults : 0, ...each })),
  )
}

async function atRest(fleet: Fleet, fresh: readonly Vitals[], tally: Tally): Promise<readonly Vitals[]> {
  const began = performance.now()
  for (;;) {
    const now = await fleet.vitals()
    const left = now.flatMap((each) => leftOver(each, fresh))
    if (left.length === 0) return now
    if (performance.now() - began > WITHIN_MS) {
      for (const each of left) violate(tally, `${fleet.server}: a gateway still has ${each} after a minute`)
      return now
    }
    await sleep(LOOK_MS)
  }
}

/** Of each kind no more than the one of the fresh gateways that had the most. */
function leftOver(now: Vitals, fresh: readonly Vitals[]): string[] {
  const most = (of: (vitals: Vitals) => number): number => Math.max(0, ...fresh.map(of))
  const counts: Record<string, [number, number]> = {
    'parked calls': [now.parked, 0],
    'requests under way': [now.inFlight, 0],
    links: [now.links, most(({ links }) => links)],
  }
  // What is done in the next turn is not left.
  for (const kind of Object.keys(now.resources).filter((each) => each !== 'Immediate'))
    counts[kind] = [now.resources[kind] ?? 0, most(({ resources }) => resources[kind] ?? 0)]
  return Object.entries(counts)
    .filter(([, [count, allowed]]) => count > allowed)
    .map(([kind, [count, allowed]]) => `${count} of ${kind} instead of ${allowed}`)
}

function round(value: number): number {
  return Math.round(value * 10) / 10
}
