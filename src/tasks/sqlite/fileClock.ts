/**
 * The clock of a file: one for all processes of its machine, whatever their own clocks show.
 *
 * The file has an anchor for each boot of the machine: a time, and the uptime of the machine at that time. The first
 * process writes it, by its own clock. The time of every process is then the anchor's time plus the uptime since. So a
 * process with a wrong clock does not expire the tasks of others, nor they its tasks.
 */
import type { DatabaseSync } from 'node:sqlite'
import { uptime } from 'node:os'
import { inTransaction, retryWhileBusy, withStoreErrors } from '../../state/stores/index.ts'
import { bootId } from './processIdentity.ts'

interface Anchor {
  readonly timeMs: number
  readonly upMs: number
}

/** Interval between two readings of the uptime; in between, the timer of the process counts. */
const LOOK_EVERY_MS = 1000

/** The time of this file in whole milliseconds. A given clock is shifted to the time of the file, and then advances by itself. */
export function fileClock(database: DatabaseSync, given?: () => number): () => number {
  const clock = given ?? Date.now
  const anchor = withStoreErrors(() => anchorOf(database, clock))
  if (anchor === undefined) return () => Math.floor(clock())
  const now = (): number => anchor.timeMs + upMs() - anchor.upMs
  if (given === undefined) return steady(now)
  const offsetMs = now() - given()
  return () => Math.floor(given() + offsetMs)
}

/** Undefined if the system does not report the boot or the uptime. */
function anchorOf(database: DatabaseSync, clock: () => number): Anchor | undefined {
  const boot = bootId()
  if (boot === undefined) return undefined
  const select = database.prepare('SELECT time_ms AS timeMs, up_ms AS upMs FROM clock WHERE boot = ?')
  const read = () => select.get(boot) as unknown as Anchor | undefined
  const write = (): Anchor => {
    const anchor = { timeMs: Math.floor(clock()), upMs: upMs() }
    database.prepare('INSERT INTO clock (boot, time_ms, up_ms) VALUES (?, ?, ?)').run(boot, anchor.timeMs, anchor.upMs)
    return anchor
  }
  const anchor = read() ?? retryWhileBusy(() => inTransaction(database, () => read() ?? write()))
  // Some containers count from their own start.
  return anchor.upMs <= upMs() ? anchor : undefined
}

function upMs(): number {
  return Math.round(uptime() * 1000)
}

/** Reads the uptime once a second, because the timer of the process stops while the machine sleeps. Never goes back. */
function steady(now: () => number): () => number {
  let lookedAt = performance.now()
  let then = now()
  let last = then
  return () => {
    const elapsed = performance.now() - lookedAt
    if (elapsed >= LOOK_EVERY_MS) {
      lookedAt += elapsed
      then = now()
    }
    last = Math.max(last, Math.floor(then + performance.now() - lookedAt))
    return last
  }
}
