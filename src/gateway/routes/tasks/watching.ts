/** Tells a subscriber of tasks by reading them again and again. */
import { type Json, sleep } from '../../../protocol/index.ts'
import { isOver } from './forms.ts'

const WATCH_MS = { least: 250, most: 10_000 }

/**
 * Sends the present status of each task, and then each change, until all have ended. One is read after the other, so that
 * a client that watches many asks for one at a time. Rejects when the signal is aborted.
 */
export async function watchTasks<T>(
  watched: readonly T[],
  read: (task: T) => Promise<Json>,
  send: (task: Json) => void,
  signal: AbortSignal,
): Promise<void> {
  const sent = new Map<T, string>()
  for (let open = watched; open.length > 0; ) {
    let waitMs = WATCH_MS.most
    const unended: T[] = []
    for (const each of open) {
      signal.throwIfAborted()
      const task = await read(each).catch(() => undefined)
      if (task === undefined) continue // it has expired, or its server is gone: a poll tells which
      const text = JSON.stringify(task)
      if (sent.get(each) !== text) send(task)
      sent.set(each, text)
      if (!isOver(task)) unended.push(each)
      const { pollIntervalMs } = task
      if (typeof pollIntervalMs === 'number') waitMs = Math.min(waitMs, Math.max(pollIntervalMs, WATCH_MS.least))
    }
    open = unended
    if (open.length > 0) await sleep(waitMs, signal)
  }
}
