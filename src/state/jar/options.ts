import type { OptionNames } from '../../protocol/index.ts'
import { StateError } from '../errors.ts'
import { type JarLimits, MAX_BYTES, MAX_NAMES, MAX_NAMES_PER_SERVER } from './rules.ts'

/** 400 days, the maximum of SEP-1655. It is also the maximum of browsers for cookies. */
const MAX_AGE_SECONDS = 34_560_000

export interface JarOptions {
  /** The maximum size of a name and its value as JSON together, in bytes. @default 4096 */
  maxBytes?: number
  /** The maximum number of names that a request to one server carries. @default 20 */
  maxNamesPerServer?: number
  /** The maximum number of names for one principal, over all servers and contexts. @default 300 */
  maxNames?: number
  /** An entry expires when its server has not set it for so long; at most 34560000 (400 days). @default never */
  maxAgeSeconds?: number
  /** Session state expires when it was not used for so long, because its host may have ended. @default 2592000 */
  sessionIdleSeconds?: number
  /** The time in milliseconds. @default Date.now */
  clock?: () => number
}

export const JAR_OPTIONS: OptionNames<JarOptions> = {
  maxBytes: true,
  maxNamesPerServer: true,
  maxNames: true,
  maxAgeSeconds: true,
  sessionIdleSeconds: true,
  clock: true,
}

export interface JarSettings {
  readonly limits: JarLimits
  /** The shortest time between two writes of the time of last use. */
  readonly noteEveryMs: number
  readonly maxAgeMs: number
  readonly sessionIdleMs: number
  readonly clock: () => number
}

/** Adds the defaults, and refuses invalid options. */
export function jarSettings(options: JarOptions): JarSettings {
  const { maxBytes = MAX_BYTES, maxNamesPerServer = MAX_NAMES_PER_SERVER, maxNames = MAX_NAMES } = options
  const { clock = Date.now, maxAgeSeconds, sessionIdleSeconds = 2_592_000 } = options
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
