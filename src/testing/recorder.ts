/**
 * Records the effects and steps of a handler for `exercise`. An effect is assigned to its round by the asynchronous
 * context (AsyncLocalStorage), so exercises may run at the same time, and effects need no id.
 */
import { AsyncLocalStorage } from 'node:async_hooks'
import type { Watch } from '../server/index.ts'

/** Records an effect. Call it wherever a tool has a side effect. */
export interface Recorder {
  (name: string, detail?: unknown): void
  /** Every effect so far, oldest first. */
  readonly seen: readonly Effect[]
  clear(): void
}

/**
 * Makes effects visible to `exercise`: let the functions with side effects that a tool uses call it.
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

interface Effect {
  readonly name: string
  readonly detail: unknown
}

/** A step that ran and was not replayed from the journal. */
interface StepRun {
  readonly kind: 'step' | 'once'
  readonly key: string
}

/** The activity of a handler in one round. */
export interface HandlerActivity {
  readonly steps: readonly StepRun[]
  /** Effects outside step and once, before the round had ended. */
  readonly unprotected: readonly string[]
  /** Effects outside step and once, after the round had ended. */
  readonly afterEnd: readonly string[]
  /** Every effect, in order. */
  readonly effects: readonly string[]
  /** The keys that the handler did not await. */
  readonly unawaited: readonly string[]
  /** The questions whose answers did not fit. */
  readonly refused: readonly string[]
}

export class RecordedActivity implements HandlerActivity {
  readonly steps: StepRun[] = []
  readonly unprotected: string[] = []
  readonly afterEnd: string[] = []
  readonly effects: string[] = []
  readonly unawaited: string[] = []
  readonly refused: string[] = []
  ended = false
}

const here = new AsyncLocalStorage<{ readonly activity: RecordedActivity; readonly inStep: boolean }>()

/** Sends one message, and also returns the activity of the handler. */
export async function watched<T>(send: () => Promise<T>): Promise<{ value: T; activity: HandlerActivity }> {
  const activity = new RecordedActivity()
  const value = await recordIn(activity, send)
  return { value, activity }
}

/** Records the effects of `work` in the activity. */
export function recordIn<T>(activity: RecordedActivity, work: () => T): T {
  return here.run({ activity, inStep: false }, work)
}

/** Adds an effect to the activity of the current round, if this runs in an exercise. */
function noteEffect({ name }: Effect): void {
  const at = here.getStore()
  if (at === undefined) return
  at.activity.effects.push(name)
  if (at.inStep) return
  if (at.activity.ended) at.activity.afterEnd.push(name)
  else at.activity.unprotected.push(name)
}

/** For `createServer({ watch })`. */
export const watch: Watch = {
  step(kind, key, work) {
    const at = here.getStore()
    if (at === undefined) return work()
    at.activity.steps.push({ kind, key })
    return here.run({ activity: at.activity, inStep: true }, work)
  },
  ended() {
    const at = here.getStore()
    if (at !== undefined) at.activity.ended = true
  },
  unawaited(what) {
    here.getStore()?.activity.unawaited.push(...what)
  },
  refused(key) {
    here.getStore()?.activity.refused.push(key)
  },
}
