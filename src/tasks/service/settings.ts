import { assertBetween, MOST } from '../engineSettings.ts'

export interface DeskOptions {
  /** How long a task may live from its creation, in milliseconds; null until it ends. @default null */
  ttlMs?: number | null
  /** The longest life a client may ask for, in milliseconds. @default 2592000000, thirty days */
  maxTtlMs?: number
  /** How often clients should look, in milliseconds. @default 1000 */
  pollMs?: number
  /** Runs at a time in this process; 0 leaves the running to others. @default 16 */
  concurrency?: number
}

export type DeskSettings = Readonly<Required<DeskOptions>>

const THIRTY_DAYS_MS = 30 * 86_400_000

/** What a desk was told, with every default, or why that cannot be. */
export function deskSettings(options: DeskOptions): DeskSettings {
  const { ttlMs = null, maxTtlMs = THIRTY_DAYS_MS, pollMs = 1000, concurrency = 16 } = options
  if (ttlMs !== null) assertBetween('ttlMs, if not null,', ttlMs, 1, MOST)
  assertBetween('maxTtlMs', maxTtlMs, 1, MOST)
  assertBetween('pollMs', pollMs, 1, MOST)
  assertBetween('concurrency', concurrency, 0, MOST)
  return { ttlMs, maxTtlMs, pollMs, concurrency }
}
