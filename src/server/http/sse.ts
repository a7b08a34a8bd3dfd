/** Server-sent events as text. JSON has no line breaks, so each message is one data line. */
export const SSE_HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
}

/** A comment without the empty line that ends an event: some old clients read an event without data there. */
export const KEEP_ALIVE = ':\n'
/** The shortest idle limit we know of is that of `Bun.serve`: 10 seconds, which it measures in steps of 4. */
export const KEEP_ALIVE_MS = 7000

export function sseEvent(message: string): string {
  return `data: ${message}\n\n`
}

export function sseEventWithId(id: string, message: string): string {
  return `id: ${id}\ndata: ${message}\n\n`
}

/**
 * An event without data: gives the client an event id before the first message, so that it can reconnect (2025-11-25).
 */
export function ssePriming(id: string): string {
  return `id: ${id}\ndata: \n\n`
}

export function sseRetry(retryMs: number): string {
  return `retry: ${retryMs}\n\n`
}
