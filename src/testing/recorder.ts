import { AsyncLocalStorage } from 'node:async_hooks'
import type { Watch } from '../server/index.ts'

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

/**
 * What one sending of a message made a handler do. It is known by the asynchronous context the handler runs in, so
 * exercises may run side by side and effects need not be told whose they are.
 */

interface Effect {
  readonly name: string
  readonly detail: unknown
}

/** A step that ran, and was not replayed. */
interface StepRun {
  readonly kind: 'step' | 'once'
  readonly key: string
}

export interface HandlerActivity {
  readonly steps: readonly StepRun[]
  /** Effects outside step and once. */
  readonly bare: readonly string[]
  /** Effects outside step and once, after the round had ended. */
  readonly late: readonly string[]
  /** Every effect, in order. */
  readonly effects: readonly string[]
}

class Sighting implements HandlerActivity {
  readonly steps: StepRun[] = []
  readonly bare: string[] = []
  readonly late: string[] = []
  readonly effects: string[] = []
  ended = false
}

const here = new AsyncLocalStorage<{ readonly sighting: Sighting; readonly inStep: boolean }>()

/** Runs one sending, and tells what it made the handler do. */
export async function watched<T>(send: () => Promise<T>): Promise<{ value: T; seen: HandlerActivity }> {
  const sighting = new Sighting()
  const value = await here.run({ sighting, inStep: false }, send)
  return { value, seen: sighting }
}

/** Notes an effect where it happens; outside an exercise there is nobody to tell. */
function noteEffect({ name }: Effect): void {
  const at = here.getStore()
  if (at === undefined) return
  at.sighting.effects.push(name)
  if (at.inStep) return
  if (at.sighting.ended) at.sighting.late.push(name)
  else at.sighting.bare.push(name)
}

/** For `createServer({ watch })`. */
export const watch: Watch = {
  step(kind, key, work) {
    const at = here.getStore()
    if (at === undefined) return work()
    at.sighting.steps.push({ kind, key })
    return here.run({ sighting: at.sighting, inStep: true }, work)
  },
  ended() {
    const at = here.getStore()
    if (at !== undefined) at.sighting.ended = true
  },
}
