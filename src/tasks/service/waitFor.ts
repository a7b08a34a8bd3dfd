/** Waits until a task meets a condition, whichever process changes it. */
import type { TaskEngine, TaskRecord } from '../engine.ts'

// No event announces that a task has expired, so waiting also polls.
const POLL_MS = 10_000

export interface WaitOptions {
  readonly id: string
  /** Reads the task; undefined when it no longer exists. */
  readonly read: () => Promise<TaskRecord | undefined>
  readonly until: (task: TaskRecord) => boolean
  readonly signal: AbortSignal
}

/** The task once `until` is true; undefined when the task no longer exists, or when the signal aborts. */
export async function waitForTask(engine: TaskEngine, options: WaitOptions): Promise<TaskRecord | undefined> {
  const { id, read, until, signal } = options
  const change = new ChangeSignal()
  const unwatch = engine.watch(id, change.notify)
  signal.addEventListener('abort', change.notify, { once: true })
  try {
    for (;;) {
      // Subscribed before the read, so that a change during the read is not missed.
      const changed = change.next(POLL_MS)
      const task = await read()
      if (task === undefined || signal.aborted || until(task)) return signal.aborted ? undefined : task
      await changed
    }
  } finally {
    unwatch()
    change.end()
    signal.removeEventListener('abort', change.notify)
  }
}

class ChangeSignal {
  #resolve: (() => void) | undefined
  #timer: ReturnType<typeof setTimeout> | undefined

  readonly notify = (): void => this.#resolve?.()

  /** Resolves at the next `notify`, or after the timeout. */
  next(timeoutMs: number): Promise<void> {
    this.end()
    return new Promise((resolve) => {
      this.#resolve = resolve
      this.#timer = setTimeout(resolve, timeoutMs)
    })
  }

  end(): void {
    clearTimeout(this.#timer)
    this.#resolve = undefined
  }
}
