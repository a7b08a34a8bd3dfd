/**
 * The event stream of an open page: all items of a topic, then what changes. The topic is read once a second, while a
 * page is open.
 */
import type { ServerResponse } from 'node:http'
import { isObject, type Json } from '../../../protocol/index.ts'
import { escapeUnprintable } from '../../../state/internal.ts'
import type { TopicChanges } from './types.ts'

/** How often a topic is read. */
const READ_MS = 1000
/** How often a silent stream shows that it is open. */
const ALIVE_MS = 10_000
/** Beyond this, a page that does not read is closed. It opens its stream again. */
const MAX_UNREAD = 16 * 1024 * 1024

/** Streams until the page is closed, or `read` fails. */
export async function streamTopic(res: ServerResponse, read: () => Promise<Json>, signal: AbortSignal): Promise<void> {
  const left = new AbortController()
  const close = (): void => left.abort()
  res.on('close', close)
  signal.addEventListener('abort', close, { once: true })
  const known = new Map<string, string>()
  let isWhole = true
  let quietSince = performance.now()
  res.writeHead(200, { 'content-type': 'text/event-stream', 'cache-control': 'no-store, no-transform' })
  try {
    while (!left.signal.aborted && res.writableLength < MAX_UNREAD) {
      const changes = changesOf(known, await read())
      const isQuiet = !isWhole && changes.gone.length === 0 && Object.keys(changes.set).length === 0
      const now = performance.now()
      if (!isQuiet)
        res.write(`data: ${escapeUnprintable(JSON.stringify({ ...changes, isWhole } satisfies TopicChanges))}\n\n`)
      else if (now - quietSince > ALIVE_MS) res.write(':\n\n')
      if (!isQuiet || now - quietSince > ALIVE_MS) quietSince = now
      isWhole = false
      await pause(left.signal)
    }
  } finally {
    res.off('close', close)
    signal.removeEventListener('abort', close)
    res.end()
  }
}

/** The changes since the items that are known, which become the present ones. */
function changesOf(known: Map<string, string>, items: Json): Omit<TopicChanges, 'isWhole'> {
  const set: Record<string, Json> = {}
  for (const [key, item] of Object.entries(items)) {
    const text = JSON.stringify(item)
    if (known.get(key) === text || !isObject(item)) continue
    known.set(key, text)
    set[key] = item
  }
  const gone = [...known.keys()].filter((key) => !Object.hasOwn(items, key))
  for (const key of gone) known.delete(key)
  return { set, gone }
}

function pause(signal: AbortSignal): Promise<void> {
  return new Promise((resolve) => {
    if (signal.aborted) return resolve()
    const done = (): void => {
      clearTimeout(timer)
      signal.removeEventListener('abort', done)
      resolve()
    }
    const timer = setTimeout(done, READ_MS)
    signal.addEventListener('abort', done, { once: true })
  })
}
