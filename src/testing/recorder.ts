import { type Effect, noteEffect } from './watching.ts'

/** Called wherever a tool changes the world. */
export interface Recorder {
  (name: string, detail?: unknown): void
  /** Every effect so far, oldest first. */
  readonly seen: readonly Effect[]
  clear(): void
}

/**
 * Makes effects visible to `exercise`: let what a tool depends on call it, inside the call that has the effect.
 * `const effect = recorder()`, then `charge: (amount) => { effect('charge', amount); … }`.
 */
export function recorder(): Recorder {
  const seen: Effect[] = []
  const record = (name: string, detail?: unknown): void => {
    const effect = { name, detail }
    seen.push(effect)
    noteEffect(effect)
  }
  return Object.assign(record, {
    seen,
    clear: () => {
      seen.length = 0
    },
  })
}
