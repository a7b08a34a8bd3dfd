import type { EngineOptions } from './engine.ts'
import { TaskError } from './errors.ts'

export type EngineSettings = Readonly<Required<EngineOptions>>

const DAY_MS = 86_400_000
// Of milliseconds that is three thousand years: with a date added it is still a whole number.
export const MOST = 1e14

/** What an engine was told, with every default, or why that cannot be. */
export function engineSettings(options: EngineOptions): EngineSettings {
  const { leaseMs = 15_000, keepMs = 7 * DAY_MS, maxLosses = 20, maxEntryBytes = 4_194_304 } = options
  assertBetween('leaseMs', leaseMs, 100, DAY_MS)
  assertBetween('keepMs', keepMs, 0, MOST)
  assertBetween('maxLosses', maxLosses, 0, MOST)
  assertBetween('maxEntryBytes', maxEntryBytes, 1024, MOST)
  return { leaseMs, keepMs, maxLosses, maxEntryBytes }
}

/** Throws for what is no whole number, or too small or large for this option. */
export function assertBetween(name: string, value: number, least: number, most: number): void {
  if (Number.isInteger(value) && value >= least && value <= most) return
  throw new TaskError('TASK_OPTION', `${name} is a whole number from ${least} to ${most}.`)
}
