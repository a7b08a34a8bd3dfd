/** Waiting for a task to become something, whichever process makes it so. */
import type { TaskEngine, TaskRecord } from '../engine.ts'

// A task that expires changes nothing anybody would tell of, so waiting looks again now and then.
const LOOK_AGAIN_MS = 10_000

export interface WaitOptions {
  readonly id: string
  readonly owner: string
  readonly until: (task: TaskRecord) => boolean
  readonly signal: AbortSignal
}

/** The task once it is as wanted; undefined when it is gone, or when nobody waits any more. */
export async function waitForTask(engine: TaskEngine, options: WaitOptions): Promise<TaskRecord | undefined> {
  const { id, owner, until, signal } = options
  const news = new ChangeSignal()
  const leave = engine.watch(id, news.tell)
  signal.addEventListener('abort', news.tell, { once: true })
  try {
    for (;;) {
      const heard = news.next(LOOK_AGAIN_MS)
      const task = await engine.read(id, owner)
      if (task === undefined || signal.aborted || until(task)) return signal.aborted ? undefined : task
      await heard
    }
  } finally {
    leave()
    news.end()
    signal.removeEventListener('abort', news.tell)
  }
}

/** Remembers that something was told, also when it was told before anybody listened. */
class ChangeSignal {
  #resolve: (() => void) | undefined
  #timer: ReturnType<typeof setTimeout> | undefined

  readonly tell = (): void => this.#resolve?.()

  /** Resolves at the next `tell`, or when the time is up. */
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
