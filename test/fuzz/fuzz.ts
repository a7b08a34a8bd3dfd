/** Hostile servers behind a gateway, and hostile clients before it, for a while; good ones beside them notice nothing. */
import { setTimeout as sleep } from 'node:timers/promises'
import { hostileClient } from './clients.ts'
import { FuzzFleet } from './fleet.ts'
import { goodCallers } from './goodCallers.ts'
import { Random } from './random.ts'

export interface FuzzPlan {
  readonly seed: number
  /** When it ends: by time, or by the requests of hostile clients, which no busy machine changes. */
  readonly until: { readonly seconds: number } | { readonly requests: number }
}

export interface FuzzReport {
  readonly violations: readonly string[]
  /** Requests of hostile clients. */
  readonly sent: number
  /** Calls of good ones, and the slowest of them as they saw it. */
  readonly calls: number
  readonly slowestMs: number
  /** How long the gateway's event loop stood still at most. */
  readonly worstMs: number
  readonly rssBytes: number
}

const CLIENTS = 16
/** Others wait for that long at most. */
const MOST_MS = 1000
const LOOK_MS = 250

export async function fuzz({ seed, until }: FuzzPlan): Promise<FuzzReport> {
  const fleet = await FuzzFleet.start(seed)
  try {
    const startedAt = performance.now()
    let sent = 0
    const isEnough = (): boolean =>
      'requests' in until ? sent >= until.requests : performance.now() - startedAt > until.seconds * 1000
    const isOver = (): boolean => isEnough() || fleet.ended !== undefined
    const random = new Random(seed)
    const options = { url: fleet.url, servers: [...fleet.hostile], isOver, onSend: () => void sent++ }
    const clients = Array.from({ length: CLIENTS }, () => hostileClient(random.fork(), options))
    const [good, unhealthy] = await Promise.all([
      goodCallers(fleet.url, isOver),
      healthWatched(fleet, isOver),
      ...clients,
    ])
    const { ended } = fleet
    const { worstMs, rss: rssBytes } = fleet.turns
    const violations = [
      ...(ended === undefined ? [...good.wrong.slice(0, 5), ...unhealthy.slice(0, 5)] : [ended]),
      ...(worstMs > MOST_MS ? [`the event loop stood still for ${Math.round(worstMs)} ms`] : []),
    ]
    const { calls, slowestMs } = good
    return { violations, sent, calls, slowestMs, worstMs, rssBytes }
  } finally {
    await fleet.stop()
  }
}

/** What the admin address answers that it should not: it is read all the time. */
async function healthWatched(fleet: FuzzFleet, isOver: () => boolean): Promise<readonly string[]> {
  const wrong: string[] = []
  while (!isOver()) {
    for (const page of ['health', 'servers', 'metrics']) {
      // Each on a connection of its own: one that is kept may be closed by the gateway while this process has no time.
      const status = await fetch(`${fleet.admin}/${page}`, { headers: { connection: 'close' } }).then(
        async (response) => (await response.text(), response.status),
        String,
      )
      if (status !== 200 && fleet.ended === undefined) wrong.push(`/${page} answered ${status}`)
    }
    await sleep(LOOK_MS)
  }
  return wrong
}
