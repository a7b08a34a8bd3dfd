/** Server-sent events, as text. JSON has no line breaks, so one data line is enough. */
export const SSE_HEADERS: Readonly<Record<string, string>> = {
  'content-type': 'text/event-stream',
  'cache-control': 'no-cache, no-transform',
  'x-accel-buffering': 'no',
}

export const KEEP_ALIVE = ':\n\n'
export const KEEP_ALIVE_MS = 15_000

export function sseEvent(message: string): string {
  return `data: ${message}\n\n`
}

export function sseEventWithId(id: string, message: string): string {
  return `id: ${id}\ndata: ${message}\n\n`
}

/** Tells the client where it is in the stream before anything happened, so that it can come back (2025-11-25). */
export function ssePriming(id: string): string {
  return `id: ${id}\ndata: \n\n`
}

export function sseRetry(retryMs: number): string {
  return `retry: ${retryMs}\n\n`
}
