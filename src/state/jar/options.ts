import { StateError } from '../errors.ts'

/** 400 days. SEP-1655 allows no more, as browsers do for cookies. */
const MAX_AGE_SECONDS = 34_560_000

export interface JarOptions {
  /** How large a name and its value, as JSON, may be together. @default 4096 */
  maxBytes?: number
  /** How many names a request to one server may carry. @default 20 */
  maxNamesPerServer?: number
  /** How many names there may be for one principal, over all servers and contexts. @default 300 */
  maxNames?: number
  /** Forgets what no server has set again for so long; at most 34560000 (400 days). @default without end */
  maxAgeSeconds?: number
  /** A context unused for so long is over, as if the host had ended it: its process may be gone. @default 2592000 */
  sessionIdleSeconds?: number
  /** The time in milliseconds. @default Date.now */
  clock?: () => number
}

export interface JarLimits {
  readonly maxBytes: number
  readonly maxNamesPerServer: number
  readonly maxNames: number
}

export interface JarSettings {
  readonly limits: JarLimits
  /** Use is noted at most so often. */
  readonly noteEveryMs: number
  readonly maxAgeMs: number
  readonly sessionIdleMs: number
  readonly clock: () => number
}

/** Fills in what is left out, and refuses what makes no sense. */
export function jarSettings(options: JarOptions): JarSettings {
  const { maxBytes = 4096, maxNamesPerServer = 20, maxNames = 300, clock = Date.now } = options
  const { maxAgeSeconds, sessionIdleSeconds = 2_592_000 } = options
  assertCounts({ maxBytes, maxNamesPerServer, maxNames })
  if (maxAgeSeconds !== undefined) assertSeconds('maxAgeSeconds', maxAgeSeconds, MAX_AGE_SECONDS)
  assertSeconds('sessionIdleSeconds', sessionIdleSeconds, Number.POSITIVE_INFINITY)
  return {
    limits: { maxBytes, maxNamesPerServer, maxNames },
    noteEveryMs: Math.min(60_000, sessionIdleSeconds * 100),
    maxAgeMs: (maxAgeSeconds ?? Number.POSITIVE_INFINITY) * 1000,
    sessionIdleMs: sessionIdleSeconds * 1000,
    clock,
  }
}

function assertCounts(counts: Record<string, number>): void {
  for (const [name, count] of Object.entries(counts)) {
    if (!Number.isSafeInteger(count) || count < 1) {
      throw new StateError('STATE_OPTION', `${name} must be a whole number of at least 1.`)
    }
  }
}

function assertSeconds(name: string, seconds: number, max: number): void {
  if (seconds > 0 && seconds <= max) return
  const bound = Number.isFinite(max) ? `, and at most ${max}` : ''
  throw new StateError('STATE_OPTION', `${name} must be more than 0${bound}.`)
}
