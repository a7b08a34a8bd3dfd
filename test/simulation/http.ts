/** Requests of simulated clients: whole replies and event streams. */
import type { Network, SentRequest } from './network.ts'
import type { Host } from './world.ts'

export type Answered =
  | { readonly kind: 'replied'; readonly status: number; readonly headers: Headers; readonly body: string }
  /** `over` resolves when the stream has ended or is broken. */
  | { readonly kind: 'stream'; readonly over: Promise<void>; readonly close: () => void }
  | { readonly kind: 'failed'; readonly code: string }

/** Called with each event of a stream. */
export type OnEvent = (id: string | undefined, data: string) => void

export function exchange(
  network: Network,
  from: Host,
  url: string,
  request: SentRequest,
  onEvent: OnEvent = () => {},
): Promise<Answered> {
  const { promise, resolve } = Promise.withResolvers<Answered>()
  const over = Promise.withResolvers<void>()
  const decoder = new TextDecoder()
  let rest = ''
  const close = network.send(from, url, request, {
    replied: (status, headers, body) => resolve({ kind: 'replied', status, headers, body }),
    opened: () => resolve({ kind: 'stream', over: over.promise, close }),
    received: (bytes) => {
      const parts = (rest + decoder.decode(bytes, { stream: true })).split('\n\n')
      rest = parts.pop() ?? ''
      for (const part of parts) readEvent(part, onEvent)
    },
    ended: () => over.resolve(),
    failed: (code) => {
      resolve({ kind: 'failed', code })
      over.resolve()
    },
  })
  return promise
}

function readEvent(text: string, onEvent: OnEvent): void {
  const lines = text.split('\n')
  const valueOf = (field: string): string | undefined =>
    lines.find((line) => line.startsWith(`${field}: `))?.slice(field.length + 2)
  const data = valueOf('data')
  if (data !== undefined) onEvent(valueOf('id'), data)
}

export function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms))
}
