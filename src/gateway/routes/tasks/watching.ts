/** Notifies a subscriber of tasks by polling them. */
import { CODES, type Json, ProtocolError, RemoteError, sleep } from '../../../protocol/index.ts'
import { BackendError } from '../../errors.ts'
import { isOver } from './forms.ts'

const WATCH_MS = { least: 250, usual: 1000, most: 10_000 }

/**
 * Sends the current status of each task, and then each change, until all have ended. Tasks are read one at a time,
 * however many a client watches. Rejects when the signal aborts.
 */
export async function watchTasks<T>(
  watched: readonly T[],
  read: (task: T) => Promise<Json>,
  send: (task: Json) => void,
  signal: AbortSignal,
): Promise<void> {
  const sent = new Map<T, string>()
  for (let open = watched; open.length > 0; ) {
    const waits: number[] = []
    const unended: T[] = []
    for (const each of open) {
      signal.throwIfAborted()
      const task = await read(each).catch((error: unknown) => (isUnknown(error) ? 'unknown' : 'away'))
      if (task === 'unknown') continue
      if (task === 'away') {
        unended.push(each)
        waits.push(WATCH_MS.usual)
        continue
      }
      const text = JSON.stringify(task)
      if (sent.get(each) !== text) send(task)
      sent.set(each, text)
      if (!isOver(task)) unended.push(each)
      const { pollIntervalMs } = task
      waits.push(typeof pollIntervalMs === 'number' ? pollIntervalMs : WATCH_MS.usual)
    }
    open = unended
    if (open.length > 0) await sleep(Math.min(Math.max(Math.min(...waits), WATCH_MS.least), WATCH_MS.most), signal)
  }
}

/** The task has expired, or its owner has ended. For a server that is unreachable now this is unknown. */
function isUnknown(error: unknown): boolean {
  if (error instanceof BackendError) return error.reason === 'BACKEND_LOST' && error.cause === undefined
  return error instanceof ProtocolError || (error instanceof RemoteError && error.code === CODES.INVALID_PARAMS)
}
