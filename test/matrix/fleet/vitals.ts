/** What a gateway holds: its memory, timers and connections from inside, and what it tells at its admin address. */
import { existsSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'

export interface Vitals {
  readonly pid: number
  /** After garbage was collected. */
  readonly heapUsed: number
  readonly rss: number
  /** Timers, sockets, processes and the like that keep it going, by kind. */
  readonly resources: Readonly<Record<string, number>>
  /** Of its metrics: calls that are parked or under way, and links to servers. */
  readonly parked: number
  readonly inFlight: number
  readonly links: number
}

const TRIES = 400
const TRY_MS = 25
const WORKER_TRIES = 600

export async function readVitals(folder: string, pid: number, admin: string | undefined): Promise<Vitals> {
  // Before the look inside, which would see this request.
  const metrics = admin === undefined ? '' : await (await fetch(`${admin}/metrics`)).text()
  const path = join(folder, String(pid))
  rmSync(path, { force: true })
  process.kill(pid, 'SIGUSR2')
  for (let tried = 0; tried < TRIES && !existsSync(path); tried++) await sleep(TRY_MS)
  const inside = JSON.parse(readFileSync(path, 'utf8')) as Pick<Vitals, 'heapUsed' | 'rss' | 'resources'>
  const sum = (name: string): number =>
    [...metrics.matchAll(new RegExp(`^pannier_gateway_${name}(?:\\{.*\\})? (\\d+)`, 'gm'))].reduce(
      (total, [, value]) => total + Number(value),
      0,
    )
  return { pid, ...inside, parked: sum('calls_parked'), inFlight: sum('calls_in_flight'), links: sum('links') }
}

/** Resolves when a gateway has its server again, which may have been killed, by all its workers. */
export async function reachesServer(admin: string): Promise<void> {
  for (let tried = 0; tried < TRIES; tried++) {
    const { servers } = (await (await fetch(`${admin}/servers`)).json()) as { servers: { condition: string }[] }
    const { workers = [] } = (await (await fetch(`${admin}/health`)).json()) as { workers?: { isServing: boolean }[] }
    const isUp = servers.length > 0 && servers.every(({ condition }) => condition === 'up')
    // What has just been killed may not have been noticed yet, and a busy worker is missing in the report.
    if (tried > 0 && isUp && workers.every(({ isServing }) => isServing)) return
    await sleep(TRY_MS)
  }
  throw new Error('A gateway does not reach its server any more.')
}

/** Resolves when a gateway has all its workers again, of which one was killed. */
export async function workersServe(admin: string, count: number): Promise<void> {
  for (let tried = 0; tried < WORKER_TRIES; tried++) {
    const { workers } = (await (await fetch(`${admin}/health`)).json()) as { workers: { isServing: boolean }[] }
    // What has just been killed may not have been noticed yet.
    if (tried > 0 && workers.filter(({ isServing }) => isServing).length === count) return
    await sleep(4 * TRY_MS)
  }
  throw new Error('A gateway has fewer workers than before.')
}
